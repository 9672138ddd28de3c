import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { SupabaseClient } from '@supabase/supabase-js'
import { startChromium } from '@trestle/testing/chromium.ts'
import { freePort } from '@trestle/testing/free-port.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import type { Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { type OpenIdServer, startOpenIdServer } from '../external/openid-server.ts'
import { forgeBearer } from '../forged-token.ts'
import { type MailApp, openMailApp } from '../mail-app.ts'

declare global {
  /** The result of `createClient` in the page. */
  const client: SupabaseClient
  /** The client events in the page. */
  const events: readonly string[]
}

/** An application in a browser, the service that it calls without a gateway, and an OpenID Connect provider. */
export interface BrowserApp extends Pick<MailApp, 'readMail' | 'sms'> {
  /** The URL of the application page. */
  readonly url: string
  readonly openId: OpenIdServer
  /** Opens the application page in a new browser, which closes at the end of the test. */
  newDevice(): Promise<Page>
  /** Opens the application page in another tab. */
  newTab(device: Page): Promise<Page>
  close(): Promise<void>
}

/** The published library for pages. */
const LIBRARY = readFileSync(
  createRequire(import.meta.url).resolve('@supabase/supabase-js/dist/umd/supabase.js'),
  'utf8',
)
const [API_KEY] = forgeBearer({ role: 'anon' }).split(' ').slice(1)

/** Opens the service in the profile supabase, and an application whose client has only a URL and a key. */
export async function openBrowserApp(): Promise<BrowserApp> {
  await using started = new AsyncDisposableStack()
  const port = await freePort()
  const serviceUrl = `http://localhost:${port}`
  const html = `<!doctype html><link rel="icon" href="data:,"><script src="/supabase.js"></script><script>
    const events = []
    const client = supabase.createClient('${serviceUrl}', '${API_KEY}')
    client.auth.onAuthStateChange((event) => { events.push(event) })
  </script>`
  const page = await startStubProvider(({ url }) =>
    url === '/supabase.js'
      ? { headers: { 'content-type': 'text/javascript; charset=utf-8' }, body: LIBRARY }
      : { headers: { 'content-type': 'text/html; charset=utf-8' }, body: html },
  )
  started.defer(() => page.close())
  // Browsers allow passkeys on localhost.
  const url = Object.assign(new URL(page.url), { hostname: 'localhost' }).href
  const openId = await startOpenIdServer()
  started.defer(() => openId.stop())
  const service = await openMailApp(settingsOf(serviceUrl, url, openId), openId)
  started.defer(() => service.close())
  await service.app.listen({ host: '127.0.0.1', port })
  const browser = await startChromium()
  started.defer(() => browser.close())
  const open = async (tab: Page) => {
    await tab.goto(url)
    return tab
  }
  const running = started.move()
  return {
    readMail: service.readMail,
    sms: service.sms,
    url,
    openId,
    newDevice: async () => {
      const device = await browser.newContext()
      // Close it, because an open page takes processor time even if nothing happens.
      onTestFinished(() => device.close())
      return open(await device.newPage())
    },
    newTab: async (device) => open(await device.context().newPage()),
    close: () => running.disposeAsync(),
  }
}

function settingsOf(serviceUrl: string, url: string, openId: OpenIdServer): Readonly<Record<string, string>> {
  return {
    AUTH_PROFILE: 'supabase',
    AUTH_API_EXTERNAL_URL: serviceUrl,
    AUTH_SITE_URL: url,
    AUTH_EXTERNAL_PHONE_ENABLED: 'true',
    AUTH_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    AUTH_SECURITY_MANUAL_LINKING_ENABLED: 'true',
    // Tests request several mails within a second.
    AUTH_SMTP_MAX_FREQUENCY: '1ms',
    AUTH_EXTERNAL_KEYCLOAK_ENABLED: 'true',
    AUTH_EXTERNAL_KEYCLOAK_CLIENT_ID: 'realm-client',
    AUTH_EXTERNAL_KEYCLOAK_SECRET: 'secret',
    AUTH_EXTERNAL_KEYCLOAK_REDIRECT_URI: `${serviceUrl}/auth/v1/callback`,
    AUTH_EXTERNAL_KEYCLOAK_URL: openId.realm,
    AUTH_PASSKEY_ENABLED: 'true',
    AUTH_WEBAUTHN_RP_ID: 'localhost',
    AUTH_WEBAUTHN_RP_DISPLAY_NAME: 'The App',
    AUTH_WEBAUTHN_RP_ORIGINS: new URL(url).origin,
  }
}
