import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'

let auth: RunningService
let test: TestConsole
beforeAll(async () => {
  auth = await startService('auth')
  test = await openTestConsole([auth])
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

const FILTERS = 'State All states Waiting Sent Failed'

describe('GET /messages', () => {
  it('200: says when no message is in the state', async () => {
    const page = await (await test.signedIn('viewer')).open('/messages?status=sent')
    expect([page.status, page.text]).toEqual([200, `Messages ${FILTERS} Filter No message matches. Clear the filters`])
  })

  it('200: lists the messages of a user with masked addresses, and sends none again for a viewer', async () => {
    const support = await test.signedIn('support')
    await support.open('/users/invite')
    await support.submit('/users/invite', { email: 'ada@example.com' })
    const [, id = ''] = /href="\/users\/([^"]+)">ada@<wbr>example/.exec(support.page().html) ?? []
    const { status, text, html } = await support.open(`/messages?user=${id}`)
    expect(status).toBe(200)
    expect(text.replaceAll(id, 'ID')).toMatch(
      /^Messages .* User ID Filter Message State Last error To Created ↓ Actions invite mail .* a…@example\.com .* UTC Send again…$/,
    )
    expect(html).toContain(`href="/users/${id}/resend?message=`)
    const seen = await (await test.signedIn('viewer')).open(`/messages?user=${id}`)
    expect([seen.status, seen.text.includes('a…@example.com'), seen.text.includes('Send again')]).toEqual([
      200,
      true,
      false,
    ])
  })
})
