import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { programEnvironment } from '../../test/program-environment.ts'
import { framework, moduleFolder } from '../../test/start.ts'

const main = join(import.meta.dirname, '../main.ts')
const env = programEnvironment()

/** Returns the error that the program prints when it cannot start in a folder, with relative paths. */
function failure(path: string): Promise<{ readonly code: unknown; readonly err: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, '--routes'], { cwd: path, env }, (error, _out, text) => {
      resolve({ code: error?.code, err: text.replaceAll(`${path}/`, '') })
    })
  })
}

/** Prints the error message of each application as JSON. A separate process for each would take much longer. */
const LOAD = `
  import { Application } from ${JSON.stringify(framework)}
  const log = { warn() {}, error() {} }
  const load = (dir) => new Application({ dir, log, controllerPrefix: [] }).ready().then(() => undefined, (error) => error)
  const errors = []
  for (const dir of process.argv.slice(1)) errors.push(await load(dir))
  console.log(JSON.stringify(errors.map((error) => error instanceof Error ? error.message : null)))`

/** Returns the errors of the applications in these folders, with relative paths. `null` means no error. */
async function messagesOf(paths: readonly string[]): Promise<readonly unknown[]> {
  const args = ['--input-type=module', '--eval', LOAD, '--', ...paths]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  const messages: readonly unknown[] = JSON.parse(stdout)
  return messages.map((message, index) => String(message).replaceAll(`${paths[index]}/`, ''))
}

const base = `import { Controller, accepts } from ${JSON.stringify(framework)}`

const cases: readonly (readonly [string, Readonly<Record<string, string>>, string | RegExp])[] = [
  [
    'a module that a controller imports throws',
    { 'controllers/index.js': "import '../lib/db.js'", 'lib/db.js': 'const pool = undefined\n\npool.connect()' },
    "controllers/index.js cannot be imported: Cannot read properties of undefined (reading 'connect') (lib/db.js:3:6)",
  ],
  [
    'a module that a controller imports is no JavaScript',
    {
      'controllers/a.js': '',
      'controllers/index.js': "import '../lib/one.js'",
      'lib/one.js': "import './two.js'",
      'lib/two.js': 'const a = 1\n  this is wrong',
    },
    "controllers/index.js cannot be imported: Unexpected identifier 'is' (lib/two.js:2:8)",
  ],
  [
    'a controller has a decorator',
    {
      'controllers/index.ts': `${base}\nconst d = (value: unknown) => value\n@d\nexport class Default extends Controller {}`,
    },
    'controllers/index.ts cannot be imported: it has a decorator, and decorators do not run unbuilt: compile the module, or do without (controllers/index.ts:3:1)',
  ],
  [
    'a module that a controller imports has a decorator',
    { 'controllers/index.js': "import '../lib/one.js'", 'lib/one.js': 'export class One {\n  @d one() {}\n}' },
    'controllers/index.js cannot be imported: it has a decorator, and decorators do not run unbuilt: compile the module, or do without (lib/one.js:2:3)',
  ],
  [
    'a module is no TypeScript',
    { 'controllers/index.ts': 'const a: number = 1\nconst b: = 2' },
    /^controllers\/index\.ts cannot be imported: .*\(controllers\/index\.ts:2\)$/s,
  ],
  [
    'an import is not exported',
    { 'controllers/index.js': "import '../lib/a.js'\nimport { b } from '../lib/a.js'", 'lib/a.js': '' },
    /^controllers\/index\.js cannot be imported: .*'b' \(controllers\/index\.js:2\)$/s,
  ],
  [
    'an imported module is not there',
    { 'controllers/index.js': "import '../lib/a.js'", 'lib/a.js': "\n\nimport './gone.js'" },
    /^controllers\/index\.js cannot be imported: Cannot find module .* \(lib\/a\.js:3\)$/s,
  ],
  [
    'what is thrown is no error',
    { 'controllers/index.js': "throw 'a text'" },
    'controllers/index.js cannot be imported: a text',
  ],
  [
    'a declaration has a fault',
    {
      'controllers/index.ts': `${base}\nexport class Other extends Controller {\n  GET() {}\n}\nexport class Foo extends Controller {
        static GET = accepts({ path: 1 as never })\n  GET() {}\n}`,
    },
    'controllers/index.ts:6: Foo.GET has the option path, which must be a list of schemas',
  ],
  [
    'a signature has a fault',
    {
      'controllers/index.ts': `${base}\nexport class Foo extends Controller {\n  GET_bar([a]: string[]) { return a }\n}`,
    },
    'controllers/index.ts:3: Foo.GET_bar has an array pattern among its parameters; declare it with accepts',
  ],
  [
    'a declaration has no handler',
    { 'controllers/index.ts': `${base}\nexport default class extends Controller {\n\n  static POST = accepts({})\n}` },
    'controllers/index.ts:4: Default declares POST with accepts, but has no such handler',
  ],
  [
    'guards are a field of instances',
    {
      'controllers/index.ts': `${base}\nexport class Admin {\n  static Keys = class extends Controller {
        use = [() => false]\n    GET() {}\n  }\n}`,
    },
    'controllers/index.ts:4: Admin.Keys has guards on its instances, where they never run: write static use',
  ],
  [
    'guards are a field of instances of a class that holds others',
    {
      'controllers/index.ts': `${base}\nexport class Admin {\n  'use' = [() => false]
        static Keys = class extends Controller { GET() {} }\n}`,
    },
    /^controllers\/index\.ts:\d: Admin has guards on its instances, where they never run: write static use$/,
  ],
  [
    'a constructor sets the guards of instances',
    {
      'controllers/index.js': `${base}\nexport class Foo extends Controller {\n  constructor(...given) {\n    super(...given)
        this.use = [() => false]\n  }\n  GET() {}\n}`,
    },
    'controllers/index.js:2: Foo has guards on its instances, where they never run: write static use',
  ],
  [
    'guards are a getter of instances',
    {
      'controllers/index.js': `${base}\nexport class Foo extends Controller {\n  get use() { return [] }\n  GET() {}\n}`,
    },
    'controllers/index.js:3: Foo has guards on its instances, where they never run: write static use',
  ],
  [
    'guards are no list',
    {
      'controllers/index.js': `${base}\nclass Foo extends Controller {\n  static use = () => false\n}\nexport class Bar extends Foo {
        GET() {}\n}`,
    },
    'controllers/index.js:5: Bar has a static use that is not a list of guards',
  ],
]

/** The messages of all cases, in their order. */
let messages: readonly unknown[] = []
beforeAll(async () => {
  using folders = new DisposableStack()
  const made = cases.map(([, files]) => folders.use(moduleFolder({ 'package.json': '{"type":"module"}', ...files })))
  messages = await messagesOf(made.map(({ path }) => path))
})

it.each(cases.map(([name, , message], index) => [name, message, index] as const))(
  'names file and line when %s',
  (_name, message, index) => {
    expect(messages[index]).toEqual(typeof message === 'string' ? message : expect.stringMatching(message))
  },
)

it('prints the stack of the thrown error', async () => {
  using folder = moduleFolder({
    'package.json': '{"type":"module"}',
    'controllers/index.js': "import '../lib/db.js'",
    'lib/db.js': "export const connect = () => {\n  throw new Error('no database')\n}\nconnect()",
  })
  const { code, err } = await failure(folder.path)
  expect(code).toBe(1)
  expect(err).toMatch(/^endpoints: controllers\/index\.js cannot be imported: no database \(lib\/db\.js:2:9\)\n/)
  expect(err).toMatch(/at connect .*lib\/db\.js:2:9[\s\S]*lib\/db\.js:4:1/)
})
