import { parseEnv } from 'node:util'
import { describe, expect, it } from 'vitest'
import { flag, integer, oneOf, port, secret, text, url } from '../../packages/common/src/config/setting.ts'
import { family, group } from '../../packages/common/src/config/setting-description.ts'
import { describeSettings } from './describe-settings.ts'
import { envExample } from './env-example.ts'

/** The example without the head that every example has, and with short rules. */
function example(settings: Readonly<Record<string, unknown>>, name = 'shop'): string {
  const lines = envExample([{ name, settings: describeSettings(settings, 'SHOP_') }]).split('\n')
  return lines
    .slice(lines.indexOf('') + 1)
    .join('\n')
    .replaceAll(/-{9,}$/gm, '---')
}

describe('envExample', () => {
  it('explains each setting in a line above it, and leaves only required ones to be set', () => {
    const settings = {
      ...group('Address', {
        URL: url().describe('Public `address`.'),
        PORT: port()
          .prefault('8090')
          .meta({ aliases: ['PORT'], description: 'Port of the API.' }),
        DRIVER: oneOf('postgres').describe('Kind of database.'),
      }),
      ...group(
        { title: 'SMS', about: 'What is sent.' },
        {
          TEXT: text().prefault('Your code is {{ .Code }}').describe('Text of the SMS.'),
          KEYS: url('redis').optional().describe('Where keys are.'),
          DAYS: integer(1, 9, 'days').prefault('2').describe('How long.'),
        },
      ),
    }
    expect(example(settings)).toBe(`# --- shop: address ---

# Public address.
SHOP_URL=

# Port of the API. Also read: PORT.
# SHOP_PORT=8090

# Kind of database. One of postgres.
SHOP_DRIVER=postgres

# --- shop: SMS ---
# What is sent.

# Text of the SMS.
# SHOP_TEXT="Your code is {{ .Code }}"

# Where keys are. redis:// URL.
# SHOP_KEYS=

# How long. Days, 1 to 9.
# SHOP_DAYS=2
`)
  })

  it('puts settings with equal explanations under one explanation, and keeps the settings of one word together', () => {
    const settings = group('npm start', {
      A: text().optional().describe('Ignored.'),
      B: text().optional().describe('Ignored.'),
      ...family(['X', 'Y'], { '<KIND>_ON': flag().prefault('true').describe('Do it.') }),
      ...family(
        { SMS: 'sends SMS', MAIL: '' },
        {
          'HOOK_<HOOK>_ON': flag().prefault('false').describe('Call it.'),
          'HOOK_<HOOK>_KEY': secret().optional().describe('Its key.'),
        },
      ),
    })
    expect(example(settings, '')).toBe(`# --- npm start ---

# Ignored.
# SHOP_A=
# SHOP_B=

# Do it.
# SHOP_X_ON=true
# SHOP_Y_ON=true

# SHOP_HOOK_<HOOK>_ON: Call it.
# SHOP_HOOK_<HOOK>_KEY: Its key.

# SMS: sends SMS.
# SHOP_HOOK_SMS_ON=false
# SHOP_HOOK_SMS_KEY=

# SHOP_HOOK_MAIL_ON=false
# SHOP_HOOK_MAIL_KEY=
`)
  })

  it('breaks long explanations between words', () => {
    const settings = group('Texts', { A: text().optional().describe('word '.repeat(40).trim()) })
    const lines = example(settings).split('\n').slice(2, -2)
    expect(lines.map((line) => line.length)).toEqual([116, 86])
    expect(lines.every((line) => /^#( word)+$/.test(line))).toBe(true)
  })

  it('is read as an env file: defaults that hold spaces are quoted', () => {
    const settings = group('Texts', {
      A: text().prefault('a # "b').describe('A.'),
      B: text().prefault('c').describe('B.'),
    })
    const taken = example(settings).replaceAll(/^# (?=[A-Z_]+=)/gm, '')
    expect(parseEnv(taken)).toEqual({ SHOP_A: 'a # "b', SHOP_B: 'c' })
  })
})
