import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askQuickStart, folder, install, listening, quickStart, quickStartInJavaScript, run } from './quick-start.ts'

const SAVES = 20
const PATIENCE_MS = 20_000

/** A JavaScript runtime from an npm package that contains only this program. */
export interface Runtime {
  readonly name: string
  readonly package: string
  /** The path of the program in the package. */
  readonly file: string
  /** The arguments before the script. */
  readonly args: readonly string[]
  readonly language: 'ts' | 'js'
}

const machine = `${process.platform}-${process.arch}`
export const runtimes: readonly Runtime[] = [
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

/**
 * Runs the quick start in an empty folder. Then saves a controller and a file that it imports, twenty times by renaming.
 * @throws Error if a program fails or an answer differs
 */
export async function tryRuntime(tarball: string, runtime: Runtime): Promise<string> {
  const { name, args, language } = runtime
  const program = installRuntime(runtime)
  const file = `controllers.${language}`
  const text = language === 'ts' ? quickStart : quickStartInJavaScript
  const cwd = folder(`watch-${toFolderName(name)}`, { [file]: text })
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
      const deadlineMs = Date.now() + PATIENCE_MS
      for (let body = ''; body !== JSON.stringify(expected); ) {
        if (Date.now() > deadlineMs) throw new Error(`a save was not noticed: ${body} in place of ${expected}\n${said}`)
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
      while (!said.includes('only after a restart')) await once(child.stderr, 'data')
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

function installRuntime({ name, package: spec, file }: Runtime): string {
  const cwd = folder(`runtime-${toFolderName(name)}`, {})
  install(cwd, spec)
  return join(cwd, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), file)
}

function toFolderName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9.]+/g, '-').toLowerCase()
}
