// Installs the packed package as a stranger would and tries it: `pnpm --filter @trestle/endpoints try-package`.
// Needs the npm registry. Each case is a folder of its own with nothing but the tarball in it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const SAVES = 20
const PATIENCE_MS = 20_000
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

/** A program that runs JavaScript, of a package that holds nothing else. */
interface Runtime {
  readonly name: string
  readonly package: string
  /** The program inside of the package. */
  readonly file: string
  /** What stands before the script. */
  readonly args: readonly string[]
  readonly language: 'ts' | 'js'
}

const machine = `${process.platform}-${process.arch}`
const runtimes: readonly Runtime[] = [
  ...['20.20.2', '22.23.3', '24.21.0'].map((version) => ({
    name: `Node ${version}`,
    package: `node-${machine}@${version}`,
    file: 'bin/node',
    args: [],
    language: version.startsWith('20.') ? ('js' as const) : ('ts' as const),
  })),
  { name: 'Bun', package: `@oven/bun-${machine}@1.4.5`, file: 'bin/bun', args: [], language: 'ts' },
  { name: 'Deno', package: `@deno/${machine}-glibc@2.9.6`, file: 'deno', args: ['run', '-A'], language: 'ts' },
]

/** Installs a runtime. Returns its program. */
function installRuntime({ name, package: spec, file }: Runtime): string {
  const cwd = folder(`runtime-${slug(name)}`, {})
  install(cwd, spec)
  return join(cwd, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), file)
}

function slug(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9.]+/g, '-').toLowerCase()
}

/** The quick start in an empty folder, then twenty saves by rename, of a controller and of what it imports. */
async function tryRuntime(tarball: string, runtime: Runtime): Promise<string> {
  const { name, args, language } = runtime
  const program = installRuntime(runtime)
  const file = `controllers.${language}`
  const text = language === 'ts' ? quickStart : quickStartInJavaScript
  const cwd = folder(`watch-${slug(name)}`, { [file]: text })
  install(cwd, tarball, 'zod')
  run(cwd, 'npm', ['pkg', 'set', 'type=module'])
  const main = join(cwd, 'node_modules', '@trestle', 'endpoints', 'bin', 'endpoints.mjs')
  const child = spawn(program, [...args, main, '--prefix=controllers', '--host=localhost:0', '--watch'], { cwd })
  let said = ''
  child.stderr.on('data', (data) => {
    said += data
  })
  try {
    const url = await listening(child)
    await askQuickStart((asked, init) => fetch(url + asked, init))
    const replace = (name: string, changed: string): void => {
      writeFileSync(join(cwd, `${name}~`), changed)
      renameSync(join(cwd, `${name}~`), join(cwd, name))
    }
    const answers = async (expected: string): Promise<void> => {
      const deadline = Date.now() + PATIENCE_MS
      for (let body = ''; body !== JSON.stringify(expected); ) {
        if (Date.now() > deadline) throw new Error(`a save was not noticed: ${body} in place of ${expected}\n${said}`)
        body = await (await fetch(url)).text()
      }
    }
    for (let i = 1; i <= SAVES; i += 1) {
      replace(file, text.replace('"Default handler"', JSON.stringify(`save ${i}`)))
      await answers(`save ${i}`)
    }
    mkdirSync(join(cwd, 'lib'))
    const word = `lib/word.${language}`
    replace(word, 'export const word = "import 0";\n')
    replace(file, `import { word } from "./${word}";\n${text.replace('"Default handler"', 'word')}`)
    await answers('import 0')
    if (name === 'Bun') {
      replace(word, 'export const word = "import 1";\n')
      while (!said.includes('only when it is started again')) await once(child.stderr, 'data')
      return `${SAVES} saves; says that a change of an import needs a restart`
    }
    for (let i = 1; i <= SAVES; i += 1) {
      replace(word, `export const word = "import ${i}";\n`)
      await answers(`import ${i}`)
    }
    return `${SAVES} saves of a controller, ${SAVES} of what it imports`
  } finally {
    child.kill('SIGTERM')
    await once(child, 'close')
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

/** The quick start and all types by `tsc --strict`, with nothing of Node.js and nothing else said. */
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

/** What npm users get: the zod that is not patched, and nothing that cannot be imported or followed. */
function tryContents(tarball: string): string {
  const cwd = folder('contents', { 'package.json': '{"type":"module"}' })
  install(cwd, tarball, 'zod')
  const at = join(cwd, 'node_modules/@trestle/endpoints')
  const { exports, ...manifest } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))
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
