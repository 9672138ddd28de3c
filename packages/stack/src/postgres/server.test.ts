import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { serverEndSteps, startServer } from './server.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trestle-server-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Starts a program that prints this output and fails, until the third start. @returns the number of starts */
async function countStarts(output: string): Promise<number> {
  const home = { binaries: join(folder, 'binaries'), data: join(folder, 'data'), isOutside: false }
  const [program, starts] = [join(home.binaries, 'bin', 'postgres'), join(folder, 'starts')]
  for (const path of [join(home.binaries, 'bin'), home.data]) mkdirSync(path, { recursive: true })
  writeFileSync(join(folder, 'output'), output)
  writeFileSync(
    program,
    `#!/bin/sh
echo start >> '${starts}'
if [ "$(wc -l < '${starts}')" -lt 3 ]; then cat '${folder}/output'; exit 1; fi
printf '%s\\n' $$ 2 3 4 5 6 7 ready > '${home.data}/postmaster.pid'
exec sleep 60
`,
    { mode: 0o755 },
  )
  const options = { port: 1, logFile: join(folder, 'log'), signal: new AbortController().signal }
  const server = await startServer({ home, ...options }).catch(() => undefined)
  await server?.end(serverEndSteps)
  return readFileSync(starts, 'utf8').split('\n').length - 1
}

it.each([
  ['again while backends of a killed server live', ['FATAL:  pre-existing shared memory block is still in use'], 3],
  [
    'again if such backends write many lines after the reason',
    [
      'FATAL:  pre-existing shared memory block is still in use',
      ...Array.from({ length: 40 }, () => 'STATEMENT: SELECT'),
    ],
    3,
  ],
  ['once if the failure is permanent', ['FATAL:  could not open file'], 1],
])('starts the server %s', async (_, lines, starts) => {
  expect(await countStarts(`${lines.join('\n')}\n`)).toBe(starts)
})
