import { expect, it } from 'vitest'
import { flag, integer, oneOf, parsed, port, secret } from '../../packages/common/src/config/setting.ts'
import { family, group } from '../../packages/common/src/config/setting-description.ts'
import { describeSettings } from './describe-settings.ts'
import { settingsPage } from './settings-page.ts'

const HEAD = `# Settings of shop

Written by \`pnpm settings\` from \`services/shop/src/config/\`. [How settings are read](README.md) says what the forms are, what a secret is, and where values come from.
`
const page = (settings: object, changed: object = {}) =>
  settingsPage({
    owner: 'shop',
    source: 'services/shop/src/config/',
    settings: describeSettings({ ...settings }, 'SHOP_'),
    profiles: [{ profile: 'strict', change: 'take fewer values', settings: describeSettings({ ...changed }, 'SHOP_') }],
  })

it('has a table for each group, in the order of the settings', () => {
  const settings = {
    ...group('Address', {
      PORT: port()
        .prefault('8090')
        .meta({ aliases: ['PORT'], description: 'Port of the API.' }),
      STORE: oneOf('memory', 'redis').prefault('memory').describe('Where counts are.'),
    }),
    ...group(
      { title: 'Keys', about: 'Keep them.' },
      {
        KEYS: parsed({ form: '`a|b`', allowed: 'two', secret: true, problem: '' }, String).describe('Both | keys.'),
        AGE: integer(1, 9, 'days').optional().describe('How old.'),
      },
    ),
  }
  expect(page(settings)).toBe(`${HEAD}
## Address

| Setting | Form | Default | Meaning |
|---|---|---|---|
| \`SHOP_PORT\` | port | \`8090\` | Port of the API. Also read: \`PORT\`. |
| \`SHOP_STORE\` | one of \`memory\`, \`redis\` | \`memory\` | Where counts are. |

## Keys

Keep them.

| Setting | Form | Default | Meaning |
|---|---|---|---|
| \`SHOP_KEYS\` | \`a\\|b\`, two, **secret** | **required** | Both \\| keys. |
| \`SHOP_AGE\` | days, 1 to 9 |  | How old. |
`)
})

it('has one row for settings that exist for several words, and the words below', () => {
  const hooks = { SMS: 'sends SMS', MAIL: 'sends mails' }
  const settings = group('Hooks', {
    ...family(hooks, {
      'HOOK_<HOOK>_ENABLED': flag().prefault('false').describe('Call it.'),
      'HOOK_<HOOK>_SECRET': secret().optional().describe('Its key.'),
    }),
    ...family(['A', 'B'], { '<KIND>_ON': flag().prefault('true').describe('Do it.') }),
  })
  expect(page(settings)).toBe(`${HEAD}
## Hooks

| Setting | Form | Default | Meaning |
|---|---|---|---|
| \`SHOP_HOOK_<HOOK>_ENABLED\` | flag | \`false\` | Call it. |
| \`SHOP_HOOK_<HOOK>_SECRET\` | text, **secret** |  | Its key. |
| \`SHOP_<KIND>_ON\` | flag | \`true\` | Do it. |

\`<HOOK>\` in \`SHOP_HOOK_<HOOK>_ENABLED\`, \`SHOP_HOOK_<HOOK>_SECRET\` is one of:

- \`SMS\`: sends SMS
- \`MAIL\`: sends mails

\`<KIND>\` in \`SHOP_<KIND>_ON\` is one of \`A\`, \`B\`.
`)
})

it('has a table of what a profile changes', () => {
  const settings = group('Limits', { DAYS: integer(1, 99, 'days').prefault('9').describe('How long.') })
  const changed = { DAYS: integer(1, 9, 'days').prefault('5') }
  expect(page(settings, changed).split('\n## ').at(-1)).toBe(`The strict profile

With \`SHOP_PROFILE=strict\` these settings take fewer values.

| Setting | Form | Default |
|---|---|---|
| \`SHOP_DAYS\` | days, 1 to 9 | \`5\` |
`)
})
