import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { type Child, type ChildEnd, reasonOf, startChild } from './child.ts'
import { isAlive } from './process-identity.ts'
import { superviseWatched } from './supervise-watched.ts'

removeFoldersAtEnd()

it('restarts at a change, reports a fault, waits for the next change, and ends', async () => {
  const root = createFolder()
  const file = join(root, 'main.ts')
  const forever = "console.log('up'); setInterval(() => {}, 1e6)\n"
  const said: string[] = []
  const started: Child[] = []
  const logFile = join(root, 'auth.log')
  const start = async () => {
    writeFileSync(logFile, '')
    const child = await startChild({
      name: 'auth',
      program: process.execPath,
      args: [file],
      env: {},
      cwd: root,
      logFile,
    })
    started.push(child)
    return child
  }
  const waitUntilReady = async (child: Child) => {
    let early: ChildEnd | undefined
    void child.ended.then((end) => {
      early = end
    })
    await expect.poll(() => early !== undefined || readFileSync(logFile, 'utf8') === 'up\n').toBe(true)
    if (early) throw new StackFailure([`auth has ended before it was ready (${reasonOf(early)}).`, ...early.tail])
  }
  const endSteps = [{ signal: 'SIGKILL', waitMs: 5_000, target: 'process' }] as const
  writeFileSync(file, forever)
  const options = {
    start,
    waitUntilReady,
    endSteps,
    say: (line: string) => void said.push(line.replace(/[\d.]+ s$/, 'N s')),
  }
  const first = await start()
  await waitUntilReady(first)
  const service = superviseWatched(first, options)

  writeFileSync(file, `${forever}const broken = 1 +;\n`)
  service.change(['main.ts', 'other.ts'])
  await expect.poll(() => said.at(-1)).toBe('auth starts again when a file changes')
  expect(said.splice(0)).toEqual([
    'auth restarts: main.ts and 1 more changed',
    'auth has ended before it was ready (exit status 1).',
    'auth starts again when a file changes',
  ])

  writeFileSync(file, forever)
  service.change(['main.ts'])
  await expect.poll(() => said).toEqual(['auth restarts: main.ts changed', 'auth is ready again after N s'])
  said.length = 0
  process.kill(started.at(-1)?.pid ?? 0, 'SIGKILL')
  await expect.poll(() => said).toEqual(['auth has ended (SIGKILL)', 'auth starts again when a file changes'])

  service.change(['main.ts'])
  await expect.poll(() => said.at(-1)).toBe('auth is ready again after N s')
  await service.end()
  expect(started.map(({ pid }) => isAlive(pid))).toEqual(started.map(() => false))
})
