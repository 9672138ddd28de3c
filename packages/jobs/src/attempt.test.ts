import { describe, expect, it } from 'vitest'
import { openPayload, sealPayload } from './attempt.ts'

const [old, present, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]

describe('openPayload', () => {
  it('opens a payload that any of its keys sealed', async () => {
    const before = await sealPayload([old], { code: '123456' })
    expect(await openPayload([present, old], before)).toEqual({ code: '123456' })
  })

  it('opens by the first key what was sealed with several', async () => {
    const now = await sealPayload([present, old], { code: '654321' })
    expect(await openPayload([present], now)).toEqual({ code: '654321' })
  })

  it('refuses a payload that another key sealed or that was altered', async () => {
    const { sealed } = await sealPayload([other], {})
    await expect(openPayload([present, old], { sealed })).rejects.toHaveProperty('code', 'ERR_JWE_DECRYPTION_FAILED')
    const altered = sealed.replace(/.{5}$/, 'AAAAA')
    await expect(openPayload([other], { sealed: altered })).rejects.toHaveProperty('code', 'ERR_JWE_DECRYPTION_FAILED')
  })
})
