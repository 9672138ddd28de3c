// Installs the packed package as a stranger would and tries it: `pnpm --filter @trestle/endpoints try-package`.
// Needs the npm registry. Each case is a folder of its own with nothing but the tarball in it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const work = mkdtempSync(join(tmpdir(), 'try-endpoints-'))

const quickStart = `import { Controller } from "@trestle/endpoints";
export class Default extends Controller {            // answers /
  async GET() { return "Default handler"; }
  async POST({ name }: { name: string }) { return \`hello \${name}\`; }
}
export class Foo extends Controller {                // answers /foo
  async GET() { return "Foo handler"; }
}
`
const quickStartInJavaScript = quickStart.replace(': { name: string }', '')

/** Uses what has types, so that a compiler which trusts nothing reads all of them. */
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

function run(cwd: string, command: string, args: readonly string[], path = process.env.PATH): string {
  const env = { ...process.env, PATH: path, npm_config_update_notifier: 'false' }
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(work, name)
  mkdirSync(path)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

function install(cwd: string, ...packages: readonly string[]): void {
  run(cwd, 'npm', ['install', '--no-audit', '--no-fund', ...packages])
}

function expectEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value))
  if (one !== other) throw new Error(`expected ${other}, got ${one}`)
}

/** The quick start, asked as the README asks it. */
async function askQuickStart(ask: (path: string, init?: RequestInit) => Promise<Response>): Promise<void> {
  const form = new URLSearchParams({ name: 'Awesome you' })
  expectEqual(await (await ask('/')).text(), '"Default handler"')
  expectEqual(await (await ask('/foo')).text(), '"Foo handler"')
  expectEqual(await (await ask('/', { method: 'POST', body: form })).text(), '"hello Awesome you"')
}

async function listening(child: ChildProcess): Promise<string> {
  let said = ''
  for (;;) {
    const [data] = await Promise.race([
      once(child.stdout ?? child, 'data'),
      once(child, 'exit').then(() => [undefined]),
    ])
    if (data === undefined) throw new Error(`endpoints ended: ${said}`)
    said += String(data)
    const url = /^Listening on (\S+)$/m.exec(said)?.[1]
    if (url !== undefined) return url
  }
}

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

/** Types in a project that checks the libraries too, without Fastify. */
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

/** A bundle for Cloudflare Workers, served by their own runtime. */
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
  ['types, checked to the last', tryTypes],
  ['Worker, in Miniflare', tryWorker],
]

try {
  const packed = run(root, 'npm', ['pack', '--pack-destination', work, '--loglevel', 'error'])
  const tarball = join(work, packed.trim().split('\n').at(-1) ?? '')
  for (const version of ['22.18.0', '24.21.0', '20.20.2']) install(folder(`node-${version}`, {}), `node@${version}`)
  for (const [name, attempt] of attempts.filter(([name]) => only === undefined || name.includes(only))) {
    await attempt(tarball)
    console.log(`ok  ${name}`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
