import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { runStep } from './step.ts'

const run = (code: string) => runStep({ name: 'step', command: process.execPath, args: ['-e', code] }, tmpdir())

it('passes with status 0 and keeps what was printed', async () => {
  const { name, passed, output, seconds } = await run('console.log("out"); console.error("err")')
  expect({ name, passed, lines: output.trim().split('\n').sort() }).toEqual({
    name: 'step',
    passed: true,
    lines: ['err', 'out'],
  })
  expect(seconds).toBeGreaterThan(0)
})

it('fails with another status', async () => {
  expect(await run('console.log("why"); process.exit(3)')).toMatchObject({ passed: false, output: 'why\n' })
})

it('fails when the program is ended by a signal', async () => {
  expect(await run('process.kill(process.pid, "SIGKILL")')).toMatchObject({ passed: false })
})

it('fails with the reason when the program is not there', async () => {
  const result = await runStep({ name: 'step', command: '/nowhere/tool', args: [] }, tmpdir())
  expect(result).toMatchObject({ passed: false, output: expect.stringContaining('ENOENT') })
})
