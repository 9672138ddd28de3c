import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The module of the quick start in the README. A test compares it with the README. */
export const quickStart = `import { Controller } from "@trestle/endpoints";
export class Default extends Controller {            // answers /
  async GET() { return "Default handler"; }
  async POST({ name }: { name: string }) { return \`hello \${name}\`; }
}
export class Foo extends Controller {                // answers /foo
  async GET() { return "Foo handler"; }
}
`
/** The module of the quick start without its only type, for runtimes that do not run TypeScript. */
export const quickStartInJavaScript = quickStart.replace(': { name: string }', '')

/** Sends the requests of the README to the quick start. @throws Error with the expected and the actual answer if they differ */
export async function askQuickStart(ask: (path: string, init?: RequestInit) => Promise<Response>): Promise<void> {
  const form = new URLSearchParams({ name: 'Awesome you' })
  expectEqual(await (await ask('/')).text(), '"Default handler"')
  expectEqual(await (await ask('/foo')).text(), '"Foo handler"')
  expectEqual(await (await ask('/', { method: 'POST', body: form })).text(), '"hello Awesome you"')
}

/** Waits until `endpoints` listens. Returns its URL. @throws Error with the output of the program if it ends earlier */
export async function listening(child: ChildProcess): Promise<string> {
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

/** The folder for all files of a run of `try-package.ts`, which removes the folder at the end. */
export const work = mkdtempSync(join(tmpdir(), 'try-endpoints-'))

/** Runs a program in a folder and returns its output. @throws Error with the messages of the program if it fails */
export function run(cwd: string, command: string, args: readonly string[], path = process.env.PATH): string {
  const env = { ...process.env, PATH: path, npm_config_update_notifier: 'false' }
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Creates a new folder with files, given by name. @returns the path of the folder */
export function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(work, name)
  mkdirSync(path)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

/** Installs packages from the registry into a folder, as users do. @throws Error with the messages of npm if it fails */
export function install(cwd: string, ...packages: readonly string[]): void {
  run(cwd, 'npm', ['install', '--no-audit', '--no-fund', ...packages])
}

/** Compares two values as JSON. @throws Error with both values if they differ */
export function expectEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value))
  if (one !== other) throw new Error(`expected ${other}, got ${one}`)
}
