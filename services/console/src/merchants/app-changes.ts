import type { Changeable } from '../pages/asked-change.ts'
import { merchantPath, type ShownMerchant } from './merchant-view.ts'

/** An app that has access to a merchant. */
export interface MerchantApp {
  readonly merchant: ShownMerchant['merchant']
  readonly app: Pick<ShownMerchant['apps'][number], 'id' | 'name'>
}

const nameOf = ({ id, name }: MerchantApp['app']) => name ?? id

/** What operators change of the apps of a merchant. */
export const appChanges: Changeable<MerchantApp> = {
  service: 'payments',
  section: 'merchants',
  pathOf: ({ merchant, app }) => `${merchantPath(merchant.id)}/apps/${encodeURIComponent(app.id)}`,
  shownAt: ({ merchant }) => merchantPath(merchant.id),
  changes: [
    {
      name: 'keys',
      action: 'apps.revoke-keys',
      label: 'Revoke keys',
      title: ({ app }) => `Revoke all keys of ${nameOf(app)}`,
      isDangerous: true,
      consequences: ({ merchant, app }) => [
        `Every API key of ${nameOf(app)} stops working at once, for all merchants that the app serves.`,
        `Payments of ${merchant.name ?? merchant.id} through this app fail until it has a new key.`,
        'This cannot be undone.',
      ],
      call: ({ app }) => ({ method: 'DELETE', path: `/operator/apps/${encodeURIComponent(app.id)}/keys` }),
      done: 'The keys of the app are revoked',
    },
  ],
}
