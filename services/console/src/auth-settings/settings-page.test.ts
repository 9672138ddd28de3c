import { describe, expect, it } from 'vitest'
import { AuthSettings, settingsPage } from './settings-page.ts'

const SETTINGS = {
  profile: 'compatible',
  providers: [],
  custom_providers: [],
  hooks: [],
  limits: [],
  mail: {},
  sms: {},
}
const alertsOf = (settings: object) =>
  settingsPage(AuthSettings.parse({ ...SETTINGS, ...settings })).main.html.match(/<p class="alert".*?<\/p>/g)

describe('settingsPage', () => {
  it('shows each warning of auth, and none where auth has none', () => {
    expect(alertsOf({ warnings: ['a <b> is shared'] })).toEqual([
      '<p class="alert" role="alert">Warning: a &lt;b&gt; is shared.</p>',
    ])
    expect(alertsOf({ warnings: [] })).toBeNull()
    expect(alertsOf({})).toBeNull()
  })
})
