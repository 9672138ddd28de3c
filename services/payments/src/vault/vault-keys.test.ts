import { describe, expect, it } from 'vitest'
import { readVaultKeys } from './vault-keys.ts'

const [A, B] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const write = (key: Buffer) => key.toString('base64')

describe('readVaultKeys', () => {
  it('reads keys in their order', () => {
    expect(readVaultKeys(`0:${write(A)}`)).toEqual([{ id: 0, key: A }])
    expect(readVaultKeys(`255:${write(B)}, 1:${write(A)}`)).toEqual([
      { id: 255, key: B },
      { id: 1, key: A },
    ])
  })

  // ASVS 11.2.3
  it.each([
    '',
    'x',
    write(A),
    `1:${write(A.subarray(1))}`,
    `1:${write(Buffer.alloc(33))}`,
    `256:${write(A)}`,
    `-1:${write(A)}`,
    `a:${write(A)}`,
    `1:${write(A)},`,
    `1:${write(A)},1:${write(B)}`,
  ])('refuses %j', (text) => {
    expect(readVaultKeys(text)).toBeUndefined()
  })
})
