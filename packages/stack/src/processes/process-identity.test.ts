import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { describe, expect, it } from 'vitest'
import { claimPidFile, findRunning, isAlive, releasePidFile, writePidFile } from './process-identity.ts'

removeFoldersAtEnd()

const newFile = () => join(createFolder(), 'auth.pid')

describe('findRunning', () => {
  it('finds the process of the file', async () => {
    const file = newFile()
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)', 'marker-of-ours'])
    await once(child, 'spawn')
    const record = { pid: child.pid ?? 0, program: 'marker-of-ours' }
    writePidFile(file, record)
    expect(await findRunning(file)).toEqual(record)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(await findRunning(file)).toBeUndefined()
    expect(isAlive(record.pid)).toBe(false)
  })

  it('does not take another process with the same id for it', async () => {
    const file = newFile()
    writePidFile(file, { pid: process.pid, program: '/some/other/program.ts' })
    expect(await findRunning(file)).toBeUndefined()
  })

  it.each(['', 'x\nprogram\n', '-1\nprogram\n', '0\nprogram\n', '12', '12\n\n'])(
    'finds nothing in %j',
    async (text) => {
      const file = newFile()
      writeFileSync(file, text)
      expect(await findRunning(file)).toBeUndefined()
    },
  )

  it('finds nothing without a file', async () => {
    expect(await findRunning(newFile())).toBeUndefined()
  })
})

describe('claimPidFile', () => {
  it('lets only one of two processes claim it, and leaves no other file', () => {
    const file = newFile()
    expect(claimPidFile(file, { pid: 1, program: 'a' })).toBe(true)
    expect(claimPidFile(file, { pid: 2, program: 'b' })).toBe(false)
    expect(readdirSync(join(file, '..'))).toEqual(['auth.pid'])
  })
})

describe('releasePidFile', () => {
  it('removes only the file of that process', () => {
    const file = newFile()
    writePidFile(file, { pid: 7, program: 'a' })
    releasePidFile(file, 8)
    expect(existsSync(file)).toBe(true)
    releasePidFile(file, 7)
    expect(existsSync(file)).toBe(false)
  })
})
