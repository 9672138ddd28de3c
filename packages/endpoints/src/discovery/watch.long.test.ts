import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { programEnvironment } from '../../test/program-environment.ts'
import { framework, moduleFolder } from '../../test/start.ts'

const main = join(import.meta.dirname, '../main.ts')
const environment = programEnvironment()

interface Watching {
  /** Resolves when the program gives the expected answer. */
  readonly answers: (expected: unknown, path?: string) => Promise<void>
  /** Resolves when the program has printed an error that matches the pattern. */
  readonly prints: (pattern: RegExp) => Promise<void>
}

const children: ChildProcess[] = []
afterEach(async () => {
  for (const child of children.splice(0)) {
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    expect((await closed)[0]).toBe(0)
  }
})

async function watch(cwd: string): Promise<Watching> {
  const child = spawn(process.execPath, [main, '--watch', '--host', '0'], { cwd, env: environment })
  children.push(child)
  const said = { out: '', err: '' }
  child.stdout.on('data', (data) => {
    said.out += data
  })
  child.stderr.on('data', (data) => {
    said.err += data
  })
  while (!said.out.includes('Listening on ')) await once(child.stdout, 'data')
  const url = /Listening on (\S+)/.exec(said.out)?.[1] ?? ''
  return {
    // Poll, because the file system may report changes late.
    answers: (expected, path = '/') =>
      expect.poll(async () => (await fetch(url + path)).text(), { interval: 5 }).toBe(JSON.stringify(expected)),
    prints: async (pattern) => {
      while (!pattern.test(said.err)) await once(child.stderr, 'data')
    },
  }
}

/** Saves a file as most editors do: writes a new file, and renames it to the old name. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}~`, text)
  renameSync(`${file}~`, file)
}

const controller = (returned: string, imports = ''): string =>
  `import { Controller } from ${JSON.stringify(framework)}\n${imports}
  export class Default extends Controller { GET() { return ${returned} } }`

it('sees twenty saves by rename, of a controller and of a file that it imports from elsewhere', async () => {
  using folder = moduleFolder({
    'package.json': '{"type":"module"}',
    'controllers/index.js': controller('word', "import { word } from '../lib/word.js'"),
    'controllers/deep/index.js': controller('0'),
    'lib/word.js': "export { word } from './deep/word.js'",
    'lib/deep/word.js': 'export const word = -1',
  })
  const program = await watch(folder.path)
  await program.answers(-1)
  for (let i = 0; i < 20; i += 1) {
    replace(join(folder.path, 'controllers/deep/index.js'), controller(String(i)))
    await program.answers(i, '/deep')
    replace(join(folder.path, 'lib/deep/word.js'), `export const word = ${i}`)
    await program.answers(i)
  }
})

it('goes on after a failed import, and names file and line', async () => {
  using folder = moduleFolder({
    'package.json': '{"type":"module"}',
    'controllers/index.js': controller('word', "import { word } from '../lib/word.js'"),
    'lib/word.js': 'export const word = 1',
  })
  const program = await watch(folder.path)
  const word = join(folder.path, 'lib/word.js')
  replace(word, 'export const word = 1\n  this is wrong')
  await program.prints(/the controllers stay as they were[\s\S]*Unexpected identifier 'is' \(\S+\/lib\/word\.js:2:8\)/)
  await program.answers(1)
  replace(word, "export const word = 1\nthrow new Error('at once')")
  await program.prints(/at once \(\S+\/lib\/word\.js:2:7\)/)
  replace(word, 'export const word = 2')
  await program.answers(2)
})

it('still sees saves while a module never ends loading', async () => {
  using folder = moduleFolder({ 'package.json': '{"type":"module"}', 'controllers/index.js': controller('1') })
  const program = await watch(folder.path)
  const file = join(folder.path, 'controllers/index.js')
  replace(file, `${controller('2')}\nconsole.error('begun')\nawait new Promise(() => {})`)
  await program.prints(/begun/)
  replace(file, controller('3'))
  await program.answers(3)
})

it('sees saves in a folder that was moved away for a while, and came back', async () => {
  using folder = moduleFolder({
    'package.json': '{"type":"module"}',
    'controllers/index.js': controller('word', "import { word } from '../lib/deep/word.js'"),
    'lib/deep/word.js': 'export const word = 1',
  })
  const program = await watch(folder.path)
  const [path, away] = [join(folder.path, 'controllers'), join(folder.path, 'away')]
  renameSync(path, away)
  await program.prints(/the controllers stay as they were/)
  renameSync(away, path)
  replace(join(path, 'index.js'), controller('word + 1', "import { word } from '../lib/deep/word.js'"))
  await program.answers(2)
  renameSync(join(folder.path, 'lib'), away)
  await program.prints(/lib\/deep\/word\.js/)
  mkdirSync(join(folder.path, 'lib/deep'), { recursive: true })
  writeFileSync(join(folder.path, 'lib/deep/word.js'), 'export const word = 2')
  await program.answers(3)
  replace(join(folder.path, 'lib/deep/word.js'), 'export const word = 3')
  await program.answers(4)
})

it('sees an imported file that is written after the import, in a folder of its own', async () => {
  using folder = moduleFolder({ 'package.json': '{"type":"module"}', 'controllers/index.js': controller('1') })
  const program = await watch(folder.path)
  replace(join(folder.path, 'controllers/index.js'), controller('word', "import { word } from '../lib/deep/word.js'"))
  await program.prints(/the controllers stay as they were/)
  mkdirSync(join(folder.path, 'lib'))
  mkdirSync(join(folder.path, 'lib/deep'))
  writeFileSync(join(folder.path, 'lib/deep/word.js'), 'export const word = 2')
  await program.answers(2)
  replace(join(folder.path, 'lib/deep/word.js'), 'export const word = 3')
  await program.answers(3)
})

it('sees folders that are created, deleted and created again', async () => {
  using folder = moduleFolder({ 'package.json': '{"type":"module"}', 'controllers/index.js': controller('1') })
  const program = await watch(folder.path)
  const path = join(folder.path, 'controllers')
  mkdirSync(join(path, 'new'))
  writeFileSync(join(path, 'new/index.js'), controller('2'))
  await program.answers(2, '/new')
  replace(join(path, 'new/index.js'), controller('3'))
  await program.answers(3, '/new')
  for (const answer of ['4', '5']) {
    rmSync(path, { recursive: true })
    mkdirSync(path)
    writeFileSync(join(path, 'index.js'), controller(answer))
    await program.answers(Number(answer))
  }
  replace(join(path, 'index.js'), controller('6'))
  await program.answers(6)
})
