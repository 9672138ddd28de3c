import { describe, expect, it } from 'vitest'
import { describeMail, describeSms, maskAddress } from './message-record.ts'

describe('maskAddress', () => {
  it.each([
    ['ada@example.com', 'a…@example.com'],
    ['a@example.com', 'a…@example.com'],
    ['"a@b"@example.com', '"…@example.com'],
    ['😀b@example.com', '😀…@example.com'],
    ['4520304089', '…89'],
  ])('shows %s to nobody as more than %s', (address, masked) => {
    expect(maskAddress(address)).toBe(masked)
  })
})

const ids = { messageId: 'm', userId: 'u' }

it('a mail is described by its kind, without its variables', () => {
  const mail = { ...ids, kind: 'MAGIC_LINK', to: 'ada@example.com', variables: { Token: '123456' } } as const
  const shown = {
    id: 'm',
    kind: 'mail',
    purpose: 'magic_link',
    channel: null,
    userId: 'u',
    recipient: 'a…@example.com',
  }
  expect(describeMail(mail)).toEqual(shown)
})

it('an SMS is described by its purpose, without its text', () => {
  const sms = { ...ids, to: '4520304089', channel: 'whatsapp', purpose: 'phone_change', text: '123456' } as const
  const shown = { id: 'm', kind: 'sms', purpose: 'phone_change', channel: 'whatsapp', userId: 'u', recipient: '…89' }
  expect(describeSms(sms)).toEqual(shown)
})
