import { execFileSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { openRepeatable, type RepeatableInput } from './users.ts'

const BYTES = Buffer.alloc(200_000, 'a line\n')

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'repeatable-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Reads the input twice and closes it. The first reading stops early. */
async function readAgain(input: RepeatableInput): Promise<Buffer> {
  for await (const chunk of input.read()) if (chunk.length > 0) break
  const bytes = await buffer(input.read())
  await input.close()
  return bytes
}

it('reads a file from its beginning, each time', async () => {
  const file = join(createFolder(), 'file')
  writeFileSync(file, BYTES)
  expect((await readAgain(await openRepeatable(file, Readable.from([])))).equals(BYTES)).toBe(true)
})

it('reads standard input twice, by a copy that has no name in the file system', async () => {
  const before = readdirSync(tmpdir()).filter((name) => name.startsWith('auth-import-'))
  const input = await openRepeatable(undefined, Readable.from([BYTES.subarray(0, 70_000), BYTES.subarray(70_000)]))
  expect(readdirSync(tmpdir()).filter((name) => name.startsWith('auth-import-'))).toEqual(before)
  expect((await readAgain(input)).equals(BYTES)).toBe(true)
})

it('reads a pipe twice, although it can be opened only once', async () => {
  const pipe = join(createFolder(), 'pipe')
  execFileSync('mkfifo', [pipe])
  const opened = openRepeatable(pipe, Readable.from([]))
  createWriteStream(pipe).end(BYTES)
  expect((await readAgain(await opened)).equals(BYTES)).toBe(true)
})

it('says that a file is not there', async () => {
  await expect(openRepeatable(join(createFolder(), 'none'), Readable.from([]))).rejects.toThrow('ENOENT')
})
