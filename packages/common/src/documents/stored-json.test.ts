import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { storedJsonBytes } from './stored-json.ts'

describe('storedJsonBytes', () => {
  it.each([
    [undefined, 0],
    [null, 4],
    ['é', 4],
    [{ a: [1, 2.5, -3] }, 16],
    [1e21, 22],
    [1.5e21, 22],
    [1e308, 309],
    [-1e308, 310],
    [5e-324, 326],
    [1.5e-7, 10],
    [-1.5e-7, 11],
    ['1e308', 7],
    [{ '1e308': ['"1e+308', '\\', 1e22] }, 51],
  ])('counts the bytes of %j with its numbers written out', (value, bytes) => {
    expect(storedJsonBytes(value)).toBe(bytes)
  })

  it('counts a number as long as its digits, whatever its exponent', () => {
    const powers = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -300, max: 300 }))
    fc.assert(
      fc.property(fc.array(powers), (numbers) => {
        const inFull = numbers.map(([digit, power]) =>
          power < 0 ? `0.${'0'.repeat(-power - 1)}${digit}` : `${digit}${'0'.repeat(power)}`,
        )
        const values = numbers.map(([digit, power]) => Number(`${digit}e${power}`))
        expect(storedJsonBytes(values)).toBe(`[${inFull.join(',')}]`.length)
      }),
    )
  })
})
