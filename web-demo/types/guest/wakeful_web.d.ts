// Where the package's own sources expect the guest's declarations: they are compiled beside it.
export type * from "@guest/wakeful_web.js";
