// Workers are modules, because the package uses a top-level `await`.
export default { base: "./", worker: { format: "es" }, build: { target: "es2023" } };
