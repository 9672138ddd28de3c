import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { afterAll, expect, it, onTestFinished, vi } from 'vitest'
import { writePidFile } from '../processes/process-identity.ts'
import { planStack } from '../settings/plan.ts'
import { createFolders } from '../stack.ts'
import { StackFailure } from '../stack-failure.ts'
import { stopStack } from './stop.ts'

removeFoldersAtEnd()

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

/** Creates a folder with a stack that is a program. The program runs `atSigterm` on SIGTERM. */
async function runAsStack(atSigterm: string) {
  const root = createFolder()
  const program = `process.on('SIGTERM', () => ${atSigterm}); setInterval(() => {}, 1000); console.log('ready')`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  await once(child.stdout, 'data')
  const plan = planStack({ root, program: '', env: {}, names: [], isWatched: false })
  createFolders(plan)
  const pid = child.pid ?? expect.fail('not started')
  writePidFile(join(plan.runDirectory, 'stack.pid'), { pid, program: process.execPath })
  return { root, child, pid }
}

async function stop(root: string, waitMs?: number): Promise<readonly string[]> {
  const lines: string[] = []
  await stopStack({ root, program: '', env: {}, say: (line) => void lines.push(line) }, waitMs)
  return lines
}

it('stops the stack of this checkout and waits for its end', async () => {
  const { root, child } = await runAsStack('setTimeout(process.exit, 100, 0)')
  const ended = once(child, 'exit')
  expect(await stop(root)).toEqual(['Stopped'])
  expect(await ended).toEqual([0, null])
  expect(await stop(root)).toEqual(['Trestle is not running'])
})

it('names a stack that does not end, and leaves it running', async () => {
  const { root, child, pid } = await runAsStack('{}')
  await expect(stop(root, 100)).rejects.toEqual(
    new StackFailure([`Trestle (process ${pid}) has not stopped in 0.1 s.`]),
  )
  expect(child.exitCode).toBeNull()
})

it('says that the stack belongs to another user, and leaves it running', async () => {
  const { root, child, pid } = await runAsStack('process.exit(0)')
  // The system returns this error for a signal from a user who does not own the process.
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM', syscall: 'kill' })
  })
  onTestFinished(() => kill.mockRestore())
  await expect(stop(root)).rejects.toEqual(
    new StackFailure([`Process ${pid} belongs to another user. Stop it as that user.`]),
  )
  expect(child.exitCode).toBeNull()
})

it('stops nothing where no stack has run', async () => {
  expect(await stop(createFolder())).toEqual(['Trestle is not running'])
})
