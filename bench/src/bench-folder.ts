import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeAtSignal } from './servers/close-at-signal.ts'

/**
 * Creates an empty folder. If this process is root, PostgreSQL runs as another user; that user may reach what is below the
 * folder.
 */
export function createBenchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trestle-bench-'))
  chmodSync(folder, 0o711)
  closeAtSignal(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
