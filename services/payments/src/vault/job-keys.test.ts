import { openPayload, sealPayload } from '@trestle/jobs/seal.ts'
import { expect, it } from 'vitest'
import { createJobKeys } from './vault-keys.ts'

const [old, fresh] = [
  { id: 1, key: Buffer.alloc(32, 1) },
  { id: 2, key: Buffer.alloc(32, 2) },
]
const pepper = Buffer.alloc(32, 9)

it('opens jobs that an earlier key of the vault sealed, or the pepper, and seals with the first key', async () => {
  const keys = createJobKeys({ vaultKeys: [fresh, old], pepper })
  const former = createJobKeys({ vaultKeys: [old], pepper })
  const peppered = createJobKeys({ vaultKeys: [{ id: 0, key: pepper }], pepper })
  for (const sealing of [keys, former, peppered]) {
    expect(await openPayload(keys, await sealPayload(sealing, { link: 'x' }))).toEqual({ link: 'x' })
  }
  await expect(openPayload(former, await sealPayload(keys, {}))).rejects.toThrow('decryption operation failed')
})
