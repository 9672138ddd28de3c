import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
