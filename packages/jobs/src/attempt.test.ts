import { describe, expect, it } from 'vitest'
import { decryptPayload, encryptPayload } from './attempt.ts'

const [old, present, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]

describe('openPayload', () => {
  it('decrypts a payload that any of its keys encrypted', async () => {
    const before = await encryptPayload([old], { code: '123456' })
    expect(await decryptPayload([present, old], before)).toEqual({ code: '123456' })
  })

  it('decrypts by the first key a payload that was encrypted with several', async () => {
    const now = await encryptPayload([present, old], { code: '654321' })
    expect(await decryptPayload([present], now)).toEqual({ code: '654321' })
  })

  it('refuses a payload that another key encrypted or that was altered', async () => {
    const { sealed } = await encryptPayload([other], {})
    await expect(decryptPayload([present, old], { sealed })).rejects.toHaveProperty('code', 'ERR_JWE_DECRYPTION_FAILED')
    const altered = sealed.replace(/.{5}$/, 'AAAAA')
    await expect(decryptPayload([other], { sealed: altered })).rejects.toHaveProperty(
      'code',
      'ERR_JWE_DECRYPTION_FAILED',
    )
  })
})
