// Workers are modules, since the package awaits its guest at the top of one.
export default { base: "./", worker: { format: "es" }, build: { target: "es2023" } };
