import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

const made: string[] = []

/** Removes the folders of a test file at its end. Call it once, at the top of the file. */
export function removeFoldersAtEnd(): void {
  afterAll(() => {
    for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
  })
}

/** Creates a folder that other users may enter. If the tests run as root, PostgreSQL runs as another user. */
export function createFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trestle-stack-')))
  chmodSync(folder, 0o755)
  made.push(folder)
  return folder
}
