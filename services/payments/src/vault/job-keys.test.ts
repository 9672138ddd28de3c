import { decryptPayload, encryptPayload } from '@trestle/jobs/attempt.ts'
import { expect, it } from 'vitest'
import { createJobKeys } from './vault-keys.ts'

const [old, fresh] = [
  { id: 1, key: Buffer.alloc(32, 1) },
  { id: 2, key: Buffer.alloc(32, 2) },
]

it('opens jobs that an earlier key of the vault encrypted, and encrypts with the first key', async () => {
  const keys = createJobKeys({ vaultKeys: [fresh, old] })
  const former = createJobKeys({ vaultKeys: [old] })
  for (const encryptingId of [keys, former]) {
    expect(await decryptPayload(keys, await encryptPayload(encryptingId, { link: 'x' }))).toEqual({ link: 'x' })
  }
  await expect(decryptPayload(former, await encryptPayload(keys, {}))).rejects.toThrow('decryption operation failed')
})
