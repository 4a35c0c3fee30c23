// The guest's declarations at the place where the package's sources expect them.
export type * from "@guest/wakeful_web.js";
