import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { type RunningService, startService } from '../../test/services.ts'

let services: readonly [RunningService, RunningService]
let test: TestConsole
beforeAll(async () => {
  services = await Promise.all([startService('auth'), startService('payments')])
  test = await openTestConsole(services)
})
afterAll(async () => {
  await test.close()
  for (const service of services) await service.stop()
})

const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]

describe('GET /jobs', () => {
  it('200: counts the jobs of each task, says who may register apps, and offers a viewer nothing', async () => {
    const page = await (await test.signedIn('viewer')).open('/jobs?state=running')
    expect(page.status).toBe(200)
    expect(page.text).toMatch(
      /^Jobs Dead Waiting Running .* Tasks Task Waiting Running Dead acquirer 0 .* Registration of apps /,
    )
    expect(page.html).not.toContain('data-ask')
  })

  it('400: refuses a state that jobs never have', async () => {
    const page = await (await test.signedIn('viewer')).open('/jobs?state=lost')
    expect([page.status, page.text]).toEqual([
      400,
      '400 Not valid A value of the form or the address is not valid. Go to the overview',
    ])
  })
})

describe('POST /jobs/:task/:change', () => {
  it('303: runs dead-letter jobs again after a question, and then lists none', async () => {
    await services[1].query(
      "INSERT INTO payments_jobs.job (name, source_name, data) VALUES ('clean_up_dead', 'clean_up', '{}')",
    )
    const browser = await test.signedIn('admin')
    expect((await browser.open('/jobs')).html).toContain('href="/jobs/clean_up/retry" data-ask')
    expect((await browser.open('/jobs/clean_up/retry')).text).toBe(
      'Retry the dead-letter jobs of clean_up All dead-letter jobs of the task (1 now) run again, with all their attempts. Mend the cause first, or they fail again. Retry Cancel',
    )
    const page = await browser.submit('/jobs/clean_up/retry')
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      '/jobs',
      'The dead-letter jobs of clean_up run again',
    ])
    expect([page.text.includes('No job is dead.'), page.html.includes('/retry"')]).toEqual([true, false])
  })

  it('404: shows an error page for an unknown task', async () => {
    const page = await (await test.signedIn('admin')).open('/jobs/nothing/retry')
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})
