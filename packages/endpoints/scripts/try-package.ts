// Installs the packed package as a user would and tries it: `pnpm --filter @trestle/endpoints try-package`. Needs the npm
// registry. Each case has its own folder that contains only the tarball.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { z } from 'zod'
import {
  askQuickStart,
  expectEqual,
  folder,
  install,
  listening,
  quickStart,
  quickStartInJavaScript,
  run,
  work,
} from './quick-start.ts'
import { runtimes, tryRuntime } from './try-runtime.ts'

const root = join(import.meta.dirname, '..')

/** Code that uses all exported types, so that a strict compiler reads all of them. */
const typed = `import { type Args, accepts, Application, Controller, fastifyOptions, p } from "@trestle/endpoints";
import { z } from "zod";
interface Deps { readonly word: string }
export class Items extends Controller<Deps> {
  static GET = accepts({ path: [p.int().optional()], keywords: z.object({ limit: p.int().default(5), tags: p.list(z.string()).optional() }) });
  GET(...[id, { limit, tags }]: Args<typeof Items.GET>) {
    const numbers: [number | undefined, number, string[] | undefined] = [id, limit, tags];
    return [this.application.context.word.length, ...numbers];
  }
}
declare const items: Items;
items.GET(7, { limit: 1, tags: ["a"] });
// @ts-expect-error a text is no number
items.GET("7", { limit: 1, tags: undefined });
// @ts-expect-error there is no such keyword
items.GET(7, { limit: 1, tags: undefined, other: 1 });
export const app = new Application<Deps>({ modules: { index: { Items } }, context: { word: "a" } });
export const options = fastifyOptions(app);
export const handler: (request: Request) => Promise<Response> = app.fetch;
`

const worker = `import { Application } from "@trestle/endpoints";
import * as index from "./controllers.ts";
export default new Application({ modules: { index } });
`

async function tryQuickStart(tarball: string, version: string, language: 'ts' | 'js'): Promise<void> {
  const nodes = join(work, `node-${version}`)
  const files = { [`controllers.${language}`]: language === 'ts' ? quickStart : quickStartInJavaScript }
  const cwd = folder(`quick-start-${version}-${language}`, files)
  install(cwd, tarball)
  const path = [join(nodes, 'node_modules', 'node', 'bin'), process.env.PATH].join(delimiter)
  const program = join(cwd, 'node_modules', '.bin', 'endpoints')
  const child = spawn(program, ['--prefix=controllers', '--host=localhost:0'], {
    cwd,
    env: { ...process.env, PATH: path },
  })
  const url = await listening(child)
  await askQuickStart((asked, init) => fetch(url + asked, init))
  child.kill('SIGTERM')
  expectEqual((await once(child, 'exit'))[0], 0)
  const script = `import { Application } from "@trestle/endpoints"; const app = new Application("controllers");
    console.log(process.version, await (await app.fetch(new Request("http://localhost/foo"))).text())`
  writeFileSync(join(cwd, 'fetch.mjs'), script)
  expectEqual(run(cwd, 'node', ['fetch.mjs'], path).trim(), `v${version} "Foo handler"`)
}

/** Compiles the types in a strict project that also checks libraries, without Fastify. */
function tryTypes(tarball: string): void {
  const compilerOptions = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }
  const modern = { module: 'nodenext', target: 'es2022', lib: ['es2023'], types: ['node'], erasableSyntaxOnly: true }
  const cwd = folder('types', {
    'typed.ts': typed,
    'package.json': '{"type":"module"}',
    'tsconfig.json': JSON.stringify({ compilerOptions: { ...compilerOptions, ...modern }, files: ['typed.ts'] }),
  })
  install(cwd, tarball, '@types/node@22')
  run(cwd, join(root, '../../node_modules/.bin/tsc'), ['-p', '.'])
}

/** Compiles the quick start and all types with `tsc --strict` only, without the types of Node.js. */
function tryTypesAlone(tarball: string): void {
  const cwd = folder('types-alone', {
    'typed.ts': typed,
    'controllers.ts': quickStart,
    'package.json': '{"type":"module"}',
  })
  install(cwd, tarball, 'zod')
  const options = ['--strict', '--noEmit', '--ignoreConfig', '--module', 'nodenext', '--target', 'es2022']
  run(cwd, join(root, '../../node_modules/.bin/tsc'), [...options, 'typed.ts', 'controllers.ts'])
}

const Manifest = z.looseObject({ exports: z.record(z.string(), z.unknown()) })

/** Checks the package as npm users get it: it works with the unpatched zod, and all its exports and links can be resolved. */
function tryContents(tarball: string): string {
  const cwd = folder('contents', { 'package.json': '{"type":"module"}' })
  install(cwd, tarball, 'zod')
  const at = join(cwd, 'node_modules/@trestle/endpoints')
  const text: unknown = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))
  const { exports, ...manifest } = Manifest.parse(text)
  expectEqual([Object.keys(exports), JSON.stringify(manifest).includes('catalog:')], [['.', './package.json'], false])
  const links = [...readFileSync(join(at, 'README.md'), 'utf8').matchAll(/\]\((?![a-z]+:)([^)#]+)/g)].map(
    ([, link = '']) => link,
  )
  expectEqual(
    links.filter((link) => !existsSync(join(at, link))),
    [],
  )
  writeFileSync(join(cwd, 'hostile.mjs'), hostile)
  return run(cwd, 'node', ['hostile.mjs']).trim()
}

const hostile = `import { accepts, Application, Controller } from "@trestle/endpoints";
import { z } from "zod";
class Default extends Controller {
  static POST = accepts({ keywords: z.object({ title: z.string().min(1).max(9), list: z.array(z.int()).max(3).optional() }) });
  POST() {}
}
const app = new Application({ modules: { index: { Default } } });
const ask = async (body) => (await app.inject({ method: "POST", path: "/", body })).status;
console.log(await ask({ title: { length: { toString: 0 } } }), await ask({ title: "a", list: { length: { toString: 0 } } }), await ask({ title: "a" }));
`

/** Builds a bundle for Cloudflare Workers and serves it with their runtime. */
async function tryWorker(tarball: string): Promise<void> {
  const cwd = folder('worker', {
    'worker.ts': worker,
    'controllers.ts': quickStart,
    'package.json': '{"type":"module"}',
  })
  install(cwd, tarball, 'esbuild', 'miniflare')
  const options = ['--bundle', '--minify', '--format=esm', '--platform=browser', '--conditions=workerd,worker']
  run(cwd, join(cwd, 'node_modules/.bin/esbuild'), ['worker.ts', ...options, '--outfile=bundle.mjs'])
  const { Miniflare } = await import(join(cwd, 'node_modules/miniflare/dist/src/index.js'))
  const modules = [{ type: 'ESModule', path: join(cwd, 'bundle.mjs') }]
  const miniflare = new Miniflare({ modules, modulesRoot: cwd, compatibilityDate: '2026-01-01' })
  try {
    const { href } = await miniflare.ready
    await askQuickStart((path, init) => fetch(new URL(path, href), init))
  } finally {
    await miniflare.dispose()
  }
}

const only = process.argv[2]
const attempts: readonly (readonly [string, (tarball: string) => unknown])[] = [
  ...(['22.18.0', '24.21.0'] as const).flatMap((version) =>
    (['ts', 'js'] as const).map((language) => {
      return [
        `quick start, Node ${version}, ${language}`,
        (tarball: string) => tryQuickStart(tarball, version, language),
      ] as const
    }),
  ),
  ['quick start, Node 20.20.2, js', (tarball) => tryQuickStart(tarball, '20.20.2', 'js')],
  ...runtimes.map((runtime) => {
    return [`quick start and watch, ${runtime.name}`, (tarball: string) => tryRuntime(tarball, runtime)] as const
  }),
  ['types by tsc --strict alone', tryTypesAlone],
  ['contents', tryContents],
  ['types, checked to the last', tryTypes],
  ['Worker, in Miniflare', tryWorker],
]

const chosen = attempts.filter(([name]) => only === undefined || name.includes(only))

try {
  const packed = run(root, 'npm', ['pack', '--pack-destination', work, '--loglevel', 'error'])
  const tarball = join(work, packed.trim().split('\n').at(-1) ?? '')
  if (chosen.some(([name]) => name.startsWith('quick start, '))) {
    for (const version of ['22.18.0', '24.21.0', '20.20.2']) install(folder(`node-${version}`, {}), `node@${version}`)
  }
  for (const [name, attempt] of chosen) {
    const told = await attempt(tarball)
    console.log(`ok  ${name}${typeof told === 'string' ? `: ${told}` : ''}`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
