import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { duration, integer, oneOf, port, secret, text } from '../../packages/common/src/config/setting.ts'
import { family, group } from '../../packages/common/src/config/setting-description.ts'
import { describeSettings, findUndescribed } from './describe-settings.ts'

describe('describeSettings', () => {
  it('returns everything that the documents say about a setting', () => {
    const settings = group(
      { title: 'Address', about: 'Where it is.' },
      {
        PORT: port()
          .prefault('8090')
          .meta({ aliases: ['PORT'], description: 'Port of the API.' }),
        KEY: secret().describe('Key of all.'),
      },
    )
    const both = { pattern: undefined, words: {}, group: 'Address', about: 'Where it is.', allowed: '' }
    expect(describeSettings(settings, 'SHOP_')).toEqual([
      {
        ...both,
        name: 'SHOP_PORT',
        meaning: 'Port of the API.',
        form: 'port',
        default: '8090',
        isRequired: false,
        isSecret: false,
        aliases: ['PORT'],
      },
      {
        ...both,
        name: 'SHOP_KEY',
        meaning: 'Key of all.',
        form: 'text',
        default: '',
        isRequired: true,
        isSecret: true,
        aliases: [],
      },
    ])
  })

  it.each([
    [text(), '', true],
    [text().optional(), '', false],
    [text().default(''), '', false],
    [text().optional().meta({ required: true }), '', true],
    [duration().prefault('10s'), '10s', false],
    [oneOf('a', 'b').prefault('b').transform(String), 'b', false],
    [text().prefault('a').optional(), 'a', false],
  ])('describes setting %# with the default $1, and as required: $2', (setting, written, isRequired) => {
    const described = describeSettings({ X: setting }, '')
    expect(described.map((each) => [each.default, each.isRequired])).toEqual([[written, isRequired]])
  })

  it('returns the pattern of settings that exist for each of several words', () => {
    const settings = family({ SMS: 'sends SMS' }, { 'HOOK_<HOOK>_URI': text() })
    expect(describeSettings(settings, 'SHOP_').map(({ name, pattern, words }) => ({ name, pattern, words }))).toEqual([
      { name: 'SHOP_HOOK_SMS_URI', pattern: 'SHOP_HOOK_<HOOK>_URI', words: { SMS: 'sends SMS' } },
    ])
  })
})

describe('findUndescribed', () => {
  it('names every incomplete setting, and what it lacks', () => {
    const settings = {
      ...group('Address', { PORT: port().prefault('1').describe('Port of the API.'), HOST: text() }),
      LIMIT: integer().default(5).describe('Most of all.'),
      ODD: z.string().optional(),
      NONE: 8080,
    }
    expect(findUndescribed(settings, 'SHOP_')).toEqual([
      "SHOP_HOST has no meaning: .describe('…')",
      "SHOP_LIMIT stands in no group: group('…', { … })",
      "SHOP_LIMIT has a default that is no text: .prefault('…')",
      "SHOP_ODD has no meaning: .describe('…')",
      "SHOP_ODD stands in no group: group('…', { … })",
      "SHOP_ODD has no form: parsed({ form: '…', … })",
      "SHOP_NONE has no meaning: .describe('…')",
      "SHOP_NONE stands in no group: group('…', { … })",
      "SHOP_NONE has no form: parsed({ form: '…', … })",
    ])
  })

  it('takes an empty list or map for no default', () => {
    const settings = group('Lists', {
      LIST: z
        .string()
        .meta({ form: 'list' })
        .transform(() => [''])
        .default([])
        .describe('List.'),
      MAP: z
        .string()
        .meta({ form: 'map' })
        .transform(() => new Map())
        .default(new Map())
        .describe('Map.'),
    })
    expect(findUndescribed(settings, '')).toEqual([])
  })
})
