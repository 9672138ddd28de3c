import type { Changeable } from '../pages/asked-change.ts'
import { merchantPath } from '../pages/paths.ts'
import { answerWith } from '../service-calls/service-call.ts'
import type { ShownMerchant } from './merchant-view.ts'

/** An app, and the merchant on whose page it stands. */
export interface KnownApp {
  /** Undefined on the page of all apps. */
  readonly merchant?: Pick<ShownMerchant['merchant'], 'id' | 'name'>
  readonly app: Pick<ShownMerchant['apps'][number], 'id' | 'name'>
}

/** The path of the list of apps. */
export const APPS_PATH = '/apps'

const nameOf = ({ id, name }: KnownApp['app']) => name ?? id
const shownAt = ({ merchant }: KnownApp) => (merchant === undefined ? APPS_PATH : merchantPath(merchant.id))

/** The changes that operators make to apps. */
export const appChanges: Changeable<KnownApp> = {
  service: 'payments',
  section: 'apps',
  pathOf: (shown) => {
    const above = shown.merchant === undefined ? APPS_PATH : `${merchantPath(shown.merchant.id)}/apps`
    return `${above}/${encodeURIComponent(shown.app.id)}`
  },
  shownAt,
  changes: [
    {
      name: 'keys',
      action: 'apps.revoke-keys',
      label: 'Revoke keys',
      title: ({ app }) => `Revoke all keys of ${nameOf(app)}`,
      isDangerous: true,
      consequences: ({ merchant, app }) => [
        `Every API key of ${nameOf(app)} stops working at once, for all merchants that the app serves.`,
        merchant === undefined
          ? 'Payments through this app fail until it has a new key.'
          : `Payments of ${merchant.name ?? merchant.id} through this app fail until it has a new key.`,
        'This cannot be undone.',
      ],
      call: ({ app }) => ({ method: 'DELETE', path: `/operator/apps/${encodeURIComponent(app.id)}/keys` }),
      answer: answerWith('revoked'),
      done: 'The keys of the app are revoked',
    },
  ],
}
