import { describe, expect, it } from 'vitest'
import { loadConfig } from './load-config.ts'
import { duration, flag, integer, secret, text, url } from './setting.ts'
import { family, group, metaOf } from './setting-description.ts'

describe('metaOf', () => {
  it('merges the metadata of a setting with the metadata of the setting that it wraps, and prefers its own', () => {
    const seconds = integer(1, 600, 'seconds').prefault('60').describe('How long a code lives.')
    expect(metaOf(seconds)).toEqual({ form: 'seconds', allowed: '1 to 600', description: 'How long a code lives.' })
    const positive = duration()
      .refine((ms) => ms > 0)
      .meta({ allowed: 'more than 0' })
    expect(metaOf(positive.optional())).toEqual({ form: 'duration', allowed: 'more than 0' })
    expect(metaOf(secret(url('redis')).transform(String).optional())).toEqual({
      form: 'redis:// URL',
      secret: true,
    })
  })

  it('is empty for a value that is not a setting', () => {
    expect([metaOf(undefined), metaOf(8080), metaOf({ meta: { form: 'text' } })]).toEqual([{}, {}, {}])
  })
})

describe('group', () => {
  it('puts settings under a heading, and keeps their other metadata', () => {
    const { PORT } = group('Address', { PORT: integer().prefault('8080').describe('Port of the API.') })
    const inner = { form: 'whole number', allowed: '' }
    expect(metaOf(PORT)).toEqual({ ...inner, description: 'Port of the API.', group: { title: 'Address' } })
    expect(PORT.parse(undefined)).toBe(8080)
  })
})

describe('family', () => {
  const words = { SEND_SMS: 'sends SMS', SEND_EMAIL: 'sends mails' }
  const settings = family(words, {
    'HOOK_<HOOK>_ENABLED': flag().prefault('false'),
    'HOOK_<HOOK>_URI': url().optional(),
  })

  it('makes each setting once for every word, word by word', () => {
    expect(Object.keys(settings)).toEqual([
      'HOOK_SEND_SMS_ENABLED',
      'HOOK_SEND_SMS_URI',
      'HOOK_SEND_EMAIL_ENABLED',
      'HOOK_SEND_EMAIL_URI',
    ])
    expect(loadConfig(settings, { prefix: 'X_', env: { X_HOOK_SEND_SMS_ENABLED: 'yes' } })).toEqual({
      HOOK_SEND_SMS_ENABLED: true,
      HOOK_SEND_EMAIL_ENABLED: false,
    })
  })

  it('keeps the pattern and the words', () => {
    expect(metaOf(settings.HOOK_SEND_EMAIL_URI)).toEqual({ form: 'URL', family: { pattern: 'HOOK_<HOOK>_URI', words } })
    expect(metaOf(family(['A', 'B'], { '<KIND>_PATH': text() }).A_PATH)).toEqual({
      form: 'text',
      family: { pattern: '<KIND>_PATH', words: { A: '', B: '' } },
    })
  })
})
