import type { Changeable } from '../pages/asked-change.ts'
import { hiddenField } from '../pages/form.ts'
import { productTag } from '../service-calls/inventory-answer.ts'
import { type Product, productPath } from './product-view.ts'

/** The changes of a product that operators make after a question. */
export const productChanges: Changeable<Product> = {
  service: 'inventory',
  section: 'products',
  pathOf: ({ id }) => productPath(id),
  changes: [
    {
      name: 'deletion',
      action: 'products.delete',
      label: 'Delete',
      title: ({ sku }) => `Delete ${sku}`,
      isDangerous: true,
      consequences: ({ sku }) => [
        `${sku} leaves the list, exports and the API, and its SKU becomes free.`,
        'Its movements stay in the ledger.',
        'A product with stock or an active reservation is not deleted.',
        'This cannot be undone.',
      ],
      fields: ({ version }) => hiddenField('version', version),
      call: ({ id }, { version }) => ({ method: 'DELETE', path: productPath(id), ifMatch: productTag(id, version) }),
      done: ({ sku }) => `${sku} is deleted`,
      leadsTo: () => '/products',
    },
  ],
}
