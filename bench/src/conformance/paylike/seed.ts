/** The objects of the client's own tests, with the ids that they have there. */
export const app = {
  id: '555eca95ed59804d2cf12b11',
  name: 'Node client',
  key: '4ff7de37-dddf-4e51-8cc9-48b61a102923',
} as const

/** A test merchant of the app. */
export const merchant = {
  id: '55006bdfe0308c4cbfdbd0e1',
  key: '3e9c6c4f-9c9b-4c77-8b0f-2f6c8d8f4a11',
  currency: 'DKK',
  test: true,
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  company: { country: 'DK' },
  apps: [app.id],
} as const

/** A transaction that has been captured twice and refunded once. Amounts are in minor units. */
export const transaction = {
  id: '560fd96b7973ff3d2362a78c',
  merchantId: merchant.id,
  currency: 'EUR',
  amount: 100_000,
  card: { number: '4100000000000000', expiry: { month: 8, year: 2066 } },
  operations: [{ capture: 5_000 }, { capture: 2_000 }, { refund: 1_000 }],
} as const

/** The file that `payments seed` reads. */
export const seedFile = { apps: [app], merchants: [merchant], transactions: [transaction] }
