import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createByteQueue } from './byte-queue.ts'

it('keeps a piece until all of it is written', () => {
  const queue = createByteQueue(100)
  for (const text of ['abc', 'de']) queue.add(Buffer.from(text))
  const seen = [queue.first()]
  for (const count of [1, 2, 2]) {
    queue.drop(count)
    seen.push(queue.first())
  }
  expect(seen.map(String)).toEqual(['abc', 'bc', 'de', 'undefined'])
})

it('takes nothing more while it is full, a piece that is being written counted too', () => {
  const queue = createByteQueue(4)
  for (const text of ['abc', 'de', 'f']) queue.add(Buffer.from(text))
  queue.drop(1)
  queue.add(Buffer.from('g'))
  queue.drop(1)
  queue.add(Buffer.from('h'))
  expect(queue.takeAll().toString()).toBe('cdeh')
  queue.add(Buffer.from('ijkl'))
  expect(queue.takeAll().toString()).toBe('ijkl')
})

it('tells when what was there has left, however it left', async () => {
  const queue = createByteQueue(100)
  const told: string[] = []
  const note = (name: string) => void queue.passed().then(() => told.push(name))
  note('empty')
  queue.add(Buffer.from('ab'))
  note('written')
  queue.add(Buffer.from('cd'))
  note('taken')
  queue.drop(1)
  await Promise.resolve()
  expect(told).toEqual(['empty'])
  queue.drop(1)
  await Promise.resolve()
  expect(told).toEqual(['empty', 'written'])
  expect([queue.takeRest().toString(), queue.takeAll().toString()]).toEqual(['', 'cd'])
  await Promise.resolve()
  expect(told).toEqual(['empty', 'written', 'taken'])
})

it('hands out all bytes once and in order, whatever is asked of it', () => {
  const step = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 9 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('drop', 'passed', 'takeAll'),
    fc.nat(9),
  )
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const queue = createByteQueue(Infinity)
      const [given, got]: [Buffer[], Buffer[]] = [[], []]
      const write = (count: number) => {
        const bytes = queue.first()?.subarray(0, count)
        if (!bytes) return
        got.push(bytes)
        queue.drop(bytes.length)
      }
      for (const action of [...steps, 'takeAll'] as const) {
        if (action === 'takeAll') got.push(queue.takeAll())
        else if (action === 'passed') void queue.passed()
        else if (action === 'drop') write(Infinity)
        else if (typeof action === 'number') write(action)
        else {
          given.push(action)
          queue.add(action)
        }
      }
      expect(Buffer.concat(got)).toEqual(Buffer.concat(given))
    }),
  )
})
