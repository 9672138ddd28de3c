import { chapter } from './requirement.ts'

const OPENAPI = {
  documented: 'README.md#what-the-services-have',
  note: 'the OpenAPI document of each service has the form of every field',
}

/** Chapter V2: input and business rules. */
export const validation = chapter('V2 Validation and business logic', [
  ['2.1.1', 1, 'The documentation says how each field is validated', OPENAPI],
  ['2.1.2', 2, 'The documentation says which fields must fit together', OPENAPI],
  [
    '2.1.3',
    2,
    'The documentation names limits, for one caller and for all',
    {
      auth: { documented: 'docs/reference/auth.md#limits' },
      payments: { documented: 'docs/settings/payments.md#limits' },
      inventory: { documented: 'docs/settings/inventory.md#limits' },
    },
  ],
  ['2.2.1', 1, 'All input is validated'],
  ['2.2.2', 1, 'The service validates input itself, whatever the client does'],
  ['2.2.3', 2, 'Fields that depend on each other are checked together'],
  ['2.3.1', 1, 'Steps can only be taken in their order'],
  ['2.3.2', 2, 'The documented limits are enforced'],
  ['2.3.3', 2, 'An operation succeeds completely or not at all'],
  ['2.3.4', 2, 'Limited goods cannot be given out twice'],
  [
    '2.4.1',
    2,
    'Automated calls are limited',
    {
      auth: {
        deviation:
          'guesses and messages are always limited; requests only once a setting names the proxies in front of the service, because otherwise all clients may share the address of a proxy',
        strict: 'the setting is required, and limits cannot be switched off',
      },
      inventory: { deviation: 'off by default (`INVENTORY_RATE_LIMIT`)' },
    },
  ],
])

const NO_FILES = 'no route takes a file'
const NOT_KEPT = { notApplicable: 'imported files are read as rows, and not kept as files' }

/** Chapter V5: uploads and downloads. */
export const files = chapter(
  'V5 File handling',
  [
    [
      '5.1.1',
      2,
      'The documentation names types and sizes of files',
      {
        documented: 'docs/reference/inventory.md#import-limits',
        note: 'the setting IMPORT_MAX_BYTES limits the size',
      },
    ],
    ['5.2.1', 1, 'Files have a largest size'],
    ['5.2.2', 1, 'The content of a file matches its type'],
    [
      '5.2.3',
      2,
      'Compressed files have a limit for their unpacked size',
      { notApplicable: 'compressed files are refused' },
    ],
    ['5.3.1', 1, 'Uploaded files are never run', NOT_KEPT],
    ['5.3.2', 1, 'File paths contain no input', { notApplicable: 'clients cannot name files' }],
    ['5.4.1', 2, 'Downloads have a name that the service chose'],
    ['5.4.2', 2, 'Names of downloads are encoded', { notApplicable: 'the names are constants and a date' }],
    ['5.4.3', 2, 'Uploaded files are scanned for viruses', NOT_KEPT],
  ],
  { auth: NO_FILES, payments: NO_FILES },
)
