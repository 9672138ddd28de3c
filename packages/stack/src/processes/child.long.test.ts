import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { StackFailure } from '../stack-failure.ts'
import { type Child, startChild, supervise } from './child.ts'
import { isAlive } from './process-identity.ts'

removeFoldersAtEnd()

const folder = createFolder()
const gentle = [{ signal: 'SIGTERM', waitMs: 5_000, target: 'process' }] as const
const forever = 'setInterval(() => {}, 1e6)'

function run(name: string, script: string): Promise<Child> {
  return startChild({
    name,
    program: process.execPath,
    args: ['-e', script],
    env: {},
    cwd: folder,
    logFile: join(folder, `${name}.log`),
    pidFile: { file: join(folder, `${name}.pid`), program: script },
  })
}

describe('startChild', () => {
  it('reports how a process ended, and the last lines of this start', async () => {
    await (await run('talks', "console.log('of an earlier start')")).ended
    const child = await run('talks', "console.log('one'); console.error('two'); process.exitCode = 3")
    expect(await child.ended).toEqual({ code: 3, signal: null, tail: ['one', 'two'] })
    expect(readFileSync(join(folder, 'talks.log'), 'utf8')).toBe('of an earlier start\none\ntwo\n')
  })

  it('lets no other account read its log, nor a file that the process makes', async () => {
    await (await run('writes', "require('node:fs').writeFileSync('made.txt', '')")).ended
    const modes = ['writes.log', 'made.txt'].map((file) => statSync(join(folder, file)).mode & 0o777)
    expect(modes).toEqual([0o600, 0o600])
  })

  it('rejects when the program does not exist', async () => {
    const command = {
      name: 'none',
      program: '/none',
      args: [],
      env: {},
      cwd: folder,
      logFile: join(folder, 'none.log'),
    }
    await expect(startChild(command)).rejects.toHaveProperty('code', 'ENOENT')
  })

  it('says what to do when the folder of its log was removed', async () => {
    const gone = join(folder, 'gone')
    const command = { name: 'none', program: process.execPath, args: [], env: {}, cwd: folder }
    await expect(startChild({ ...command, logFile: join(gone, 'none.log') })).rejects.toEqual(
      new StackFailure([`${gone} was removed while the stack ran. Stop it first, then start it again.`]),
    )
  })

  it('sends the next signal when one has no effect, and ends child processes too', async () => {
    const stubborn = `process.on('SIGTERM', () => {})
const child = require('node:child_process').spawn(process.execPath, ['-e', '${forever}'])
child.once('spawn', () => console.log(child.pid))
${forever}`
    const child = await run('stubborn', stubborn)
    const log = join(folder, 'stubborn.log')
    await expect.poll(() => readFileSync(log, 'utf8')).toMatch(/^\d+\n/)
    await child.end([
      { signal: 'SIGTERM', waitMs: 100, target: 'process' },
      { signal: 'SIGKILL', waitMs: 5_000, target: 'process' },
    ])
    expect(await child.ended).toEqual({ signal: 'SIGKILL', code: null, tail: [expect.any(String)] })
    await expect.poll(() => isAlive(Number(readFileSync(log, 'utf8')))).toBe(false)
  })
})

describe('supervise', () => {
  it('restarts a process that ends by itself, and no process that the stack has ended', async () => {
    const ends: string[] = []
    const started: Child[] = []
    const start = async () => {
      const child = await run('phoenix', forever)
      started.push(child)
      return child
    }
    const supervised = supervise(await start(), {
      start,
      endSteps: gentle,
      onEnd: (name, { signal }) => ends.push(`${name} ${signal}`),
      restartDelayMs: 1,
    })
    process.kill(started[0]?.pid ?? 0, 'SIGKILL')
    await expect.poll(() => started.length).toBe(2)
    await supervised.end()
    expect(ends).toEqual(['phoenix SIGKILL'])
    expect(started.map(({ pid }) => isAlive(pid))).toEqual([false, false])
  })

  it('restarts a process five times, then gives up with the reason, and announces no further restart', async () => {
    const ends: string[] = []
    const start = () => run('hopeless', 'process.exit(1)')
    const onEnd = (name: string) => void ends.push(name)
    const supervised = supervise(await start(), { start, endSteps: gentle, onEnd, restartDelayMs: 1 })
    const problem = 'hopeless has ended too often (the last time: exit status 1).'
    await expect(supervised.failed).rejects.toEqual(new StackFailure([problem]))
    expect(ends).toEqual(Array(5).fill('hopeless'))
    await supervised.end()
  })
})
