// The packed tarball in a project: a folder below target/npm/consumers into which npm has installed
// it, and programs that run there.
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The root of the tree. */
export const root = new URL("../../", import.meta.url);

/** The packed tarball. */
export async function tarball() {
  const made = new URL("target/npm/", root);
  const names = (await readdir(made).catch(() => [])).filter((name) => name.endsWith(".tgz"));
  if (names.length !== 1) {
    throw new Error(
      `target/npm has ${names.length} tarballs: build the package with \`cargo xtask npm\``,
    );
  }
  return fileURLToPath(new URL(names[0], made));
}

/**
 * Makes a fresh project from a folder of the tree or from texts by name, with the package from its
 * tarball.
 */
export async function project(name, files) {
  const folder = new URL(`target/npm/consumers/${name}/`, root);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  if (typeof files === "string") {
    await cp(new URL(`${files}/`, root), folder, {
      recursive: true,
      filter: (path) => !/node_modules|dist|objects/.test(path.slice(fileURLToPath(root).length)),
    });
  } else {
    for (const [path, text] of Object.entries({
      "package.json": '{"private":true,"type":"module"}\n',
      ...files,
    })) {
      await writeFile(new URL(path, folder), text);
    }
  }
  // Install offline: the package has no dependencies, and the build tools are in npm/node_modules.
  // So the result does not depend on a registry or a cache.
  const manifest = new URL("package.json", folder);
  const { devDependencies, ...rest } = JSON.parse(await readFile(manifest, "utf8"));
  await writeFile(manifest, JSON.stringify(rest));
  await run(
    "npm",
    ["install", "--no-save", "--offline", "--no-audit", "--no-fund", await tarball()],
    { cwd: folder },
  );
  return folder;
}

/** Runs Node in a project. Returns its output. */
export async function node(folder, ...args) {
  const { stdout } = await run(process.execPath, args, { cwd: folder });
  return stdout;
}

/**
 * Runs a script of a project's package.json with the programs of npm/node_modules. Returns its
 * output.
 */
export async function script(folder, name) {
  const programs = fileURLToPath(new URL("npm/node_modules/.bin", root));
  const PATH = [programs, process.env.PATH].join(delimiter);
  const { stdout, stderr } = await run("npm", ["run", "--silent", name], {
    cwd: folder,
    env: { ...process.env, PATH },
  });
  return stdout + stderr;
}
