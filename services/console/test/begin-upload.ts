import { type ClientRequest, request } from 'node:http'
import { portOf } from '@trestle/testing/free-port.ts'
import { hiddenFields, type TestBrowser } from './browser.ts'
import type { TestConsole } from './console-app.ts'

/** Sends the form of a page of imports up to its file, over a connection. The file and the end of the form are not sent yet. */
export async function beginUpload(
  { app, origin }: Pick<TestConsole, 'app' | 'origin'>,
  browser: TestBrowser,
  changes: Readonly<Record<string, string>> = {},
): Promise<ClientRequest> {
  const { html } = await browser.open('/imports')
  const { _csrf = '', _key = '' } = hiddenFields(html, '/sign-out')
  const sent = request({
    host: '127.0.0.1',
    port: portOf(app.server),
    path: '/imports',
    method: 'POST',
    headers: {
      cookie: [...browser.cookies].map((each) => each.join('=')).join('; '),
      origin,
      'content-type': 'multipart/form-data; boundary=part',
    },
  })
  for (const [name, value] of Object.entries({ _csrf, _key, mode: 'insert', ...changes })) {
    sent.write(`--part\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  }
  sent.write('--part\r\ncontent-disposition: form-data; name="file"; filename="autumn.csv"\r\n\r\n')
  return sent
}
