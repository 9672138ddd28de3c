import { execFile } from 'node:child_process'
import { getPriority, platform } from 'node:os'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { runOnHashThread } from './hash-threads.ts'

const run = promisify(execFile)
/** Prints which threads are behind the first at the start, after two tasks at once, and after two more; and where that is. */
const PROGRAM = `
  import { readdirSync } from 'node:fs'
  import { getPriority } from 'node:os'
  import { runOnHashThread } from '${import.meta.resolve('./hash-threads.ts')}'
  const behind = () => readdirSync('/proc/self/task').filter((thread) => getPriority(Number(thread)) > getPriority())
  const twice = () => Promise.all([1, 2].map(() => runOnHashThread([{ kind: 'hash', password: 'secret' }])))
  const results = [behind()]
  for (let round = 0; round < 2; round += 1) {
    await twice()
    results.push(behind())
  }
  console.log(JSON.stringify([...results, getPriority()]))`

describe('runOnHashThread', () => {
  it('does the tasks in order, and leaves the event loop free meanwhile', async () => {
    const order: string[] = []
    const work = runOnHashThread([
      { kind: 'hash', password: 'secret' },
      { kind: 'compare', hash: '$1$unknown', password: 'secret' },
    ]).finally(() => order.push('done'))
    await new Promise((resolve) => setImmediate(resolve))
    order.push('next turn')
    const [hashed, failed] = await work
    expect(order).toEqual(['next turn', 'done'])
    expect(failed).toEqual({ verdict: 'failed', error: new Error('the form of the hash is not known') })
    const hash = hashed?.verdict === 'hashed' ? hashed.hash : expect.fail('no hash')
    expect(
      await runOnHashThread([
        { kind: 'compare', hash, password: 'secret' },
        { kind: 'compare', hash, password: 'Secret' },
      ]),
    ).toEqual([
      { verdict: 'compared', matches: true },
      { verdict: 'compared', matches: false },
    ])
  })

  it.runIf(platform() === 'linux')(
    'has its threads used again, behind the one that answers, and ends with its process',
    async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM])
      const [before, first, second, own] = JSON.parse(stdout)
      expect(before).toEqual([])
      expect(first).toHaveLength(2)
      expect(second).toEqual(first)
      expect(own).toBe(getPriority())
    },
  )
})
