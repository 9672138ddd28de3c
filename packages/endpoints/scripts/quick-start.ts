import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The module of the quick start in the README, which a test compares with it. */
export const quickStart = `import { Controller } from "@trestle/endpoints";
export class Default extends Controller {            // answers /
  async GET() { return "Default handler"; }
  async POST({ name }: { name: string }) { return \`hello \${name}\`; }
}
export class Foo extends Controller {                // answers /foo
  async GET() { return "Foo handler"; }
}
`
/** The module of the quick start without its one type, for runtimes that run no TypeScript. */
export const quickStartInJavaScript = quickStart.replace(': { name: string }', '')

/** The quick start, asked as the README asks it. @throws Error that shows both when an answer differs */
export async function askQuickStart(ask: (path: string, init?: RequestInit) => Promise<Response>): Promise<void> {
  const form = new URLSearchParams({ name: 'Awesome you' })
  expectEqual(await (await ask('/')).text(), '"Default handler"')
  expectEqual(await (await ask('/foo')).text(), '"Foo handler"')
  expectEqual(await (await ask('/', { method: 'POST', body: form })).text(), '"hello Awesome you"')
}

/** Waits until `endpoints` listens. Returns its URL. @throws Error when the program ends before, with what it has said */
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

/** Holds every folder of a run of try-package.ts, which removes it at its end. */
export const work = mkdtempSync(join(tmpdir(), 'try-endpoints-'))

/** Runs a program in a folder and returns what it prints. @throws Error with its messages when it fails */
export function run(cwd: string, command: string, args: readonly string[], path = process.env.PATH): string {
  const env = { ...process.env, PATH: path, npm_config_update_notifier: 'false' }
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Makes a new folder with files, by name. @returns its path */
export function folder(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(work, name)
  mkdirSync(path)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

/** Installs packages from the registry into a folder, as their users do. @throws Error with its messages when npm fails */
export function install(cwd: string, ...packages: readonly string[]): void {
  run(cwd, 'npm', ['install', '--no-audit', '--no-fund', ...packages])
}

/** Compares two values as JSON. @throws Error that shows both when they differ */
export function expectEqual(actual: unknown, expected: unknown): void {
  const [one, other] = [actual, expected].map((value) => JSON.stringify(value))
  if (one !== other) throw new Error(`expected ${other}, got ${one}`)
}
