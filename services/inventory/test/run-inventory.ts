import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programEnvironment } from '@trestle/testing/command-server.ts'
import { prepared } from '@trestle/testing/temporary-database.ts'

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export interface InventoryProcess {
  readonly directory: string
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves with the match once standard output holds it. */
  readonly waitFor: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | string | null>
  readonly cleanUp: () => Promise<void>
}

/** The environment of the program in tests: its settings, over those that every test needs. */
export function environmentWith(settings: Readonly<Record<string, string>>) {
  return {
    ...programEnvironment,
    ...{ INVENTORY_METRICS_ENABLED: 'false', INVENTORY_PORT: '0' },
    ...{ INVENTORY_DB_PREPARED: String(prepared), ...settings },
  }
}

/** Starts the command line of inventory as a process on a free port. */
export function runInventory(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  directory = mkdtempSync(join(tmpdir(), 'inventory-process-')),
): InventoryProcess {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd: directory, env: environmentWith(env) })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  const exited = once(child, 'close').then(([code, signal]) => code ?? signal)
  return {
    directory,
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    waitFor: async (pattern) => {
      for (;;) {
        const match = pattern.exec(stdout)
        if (match) return match
        const ended = await Promise.race([once(child.stdout, 'data').then(() => false), exited.then(() => true)])
        if (ended && !pattern.test(stdout)) throw new Error(`ended without ${pattern}: ${stderr}`)
      }
    },
    exited,
    cleanUp: async () => {
      child.kill('SIGKILL')
      await exited
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export async function addressOf(inventory: InventoryProcess): Promise<string> {
  return (await inventory.waitFor(/"address":"([^"]+)"/))[1] ?? ''
}
