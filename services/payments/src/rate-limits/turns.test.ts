import { expect, it } from 'vitest'
import { createTurns } from './turns.ts'

/** Work that ends when it is told to. */
function makeWork() {
  const started: string[] = []
  const ends = new Map<string, (error?: Error) => void>()
  const work = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      started.push(name)
      ends.set(name, (error) => (error ? reject(error) : resolve(name)))
    })
  return { started, work, end: (name: string, error?: Error) => ends.get(name)?.(error) }
}

// ASVS 15.2.2
it('runs so much of a key at once, the rest in its order, and other keys beside it', async () => {
  const inTurn = createTurns(2)
  const { started, work, end } = makeWork()
  const results = ['a', 'b', 'c', 'd'].map((name) => inTurn('key', work(name)))
  const other = inTurn('other', work('x'))
  expect(started).toEqual(['a', 'b', 'x'])
  end('b')
  expect(await results[1]).toBe('b')
  expect(started).toEqual(['a', 'b', 'x', 'c'])
  end('a', new Error('lost'))
  await expect(results[0]).rejects.toThrow('lost')
  expect(started).toEqual(['a', 'b', 'x', 'c', 'd'])
  for (const name of ['c', 'd', 'x']) end(name)
  expect(await Promise.all([results[2], results[3], other])).toEqual(['c', 'd', 'x'])
  const again = ['e', 'f', 'g'].map((name) => inTurn('key', work(name)))
  expect(started.slice(5)).toEqual(['e', 'f'])
  for (const name of ['e', 'f']) end(name)
  await Promise.all(again.slice(0, 2))
  end('g')
  expect(await again[2]).toBe('g')
})
