import { Code, Group, SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import { CopyAction } from '../../components/copy.tsx'
import { Section } from '../../components/page.tsx'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const secretName = 'GUICHE_CLIENT_SECRET'

/** A short program that creates a first charge, with the client's id filled in. It never contains the secret. */
export function Snippet({ clientId }: { clientId: string }) {
  const t = useText(words)
  const [kind, setKind] = useState<keyof typeof samples>('sdk')
  const text = samples[kind](clientId, t)
  return (
    <Section
      title={t.begin}
      aside={
        <SegmentedControl
          size="xs"
          value={kind}
          onChange={(value) => setKind(value as keyof typeof samples)}
          aria-label={t.sampleLanguage}
          data={[
            { value: 'sdk', label: 'JavaScript' },
            { value: 'php', label: 'PHP' },
            { value: 'python', label: 'Python' },
            { value: 'curl', label: 'curl' },
          ]}
        />
      }
    >
      <Group justify="space-between" wrap="nowrap" align="flex-start" mb={6}>
        <Text size="sm" c="dimmed">
          {t.beginLead(secretName)}
        </Text>
        <CopyAction value={text} label={t.begin} />
      </Group>
      <Code block tabIndex={0} color="light-dark(#f3f6f5, #111615)" style={{ overflowX: 'auto' }}>
        {text}
      </Code>
    </Section>
  )
}

type Words = (typeof words)['en']

const sdk = (clientId: string, t: Words) => `// ${t.sdkSource} npm pack -w @guiche/sdk
// ${t.sdkFile}: npm install ./guiche-sdk-0.1.0.tgz
import { Guiche } from '@guiche/sdk'

const guiche = new Guiche({
  baseUrl: '${location.origin}',
  clientId: '${clientId}',
  clientSecret: process.env.${secretName} ?? '',
})
const { id, pixResponse } = await guiche.transactions.create({ amount: 2590 })
console.log(id, pixResponse.uri)`

const curl = (clientId: string) => `TOKEN=$(curl -s ${location.origin}/auth/token \\
  -d grant_type=client_credentials -d client_id=${clientId} \\
  --data-urlencode client_secret="$${secretName}" | jq -r .access_token)

curl -s ${location.origin}/transaction \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{ "amount": 2590, "paymentMethod": "PIX", "pix": {} }'`

const php = (clientId: string, t: Words) => `<?php
// ${t.sdkBeside} cp -r ../guiche/sdk-php sdk-php
require 'sdk-php/autoload.php';

use Guiche\\Guiche;

$guiche = new Guiche('${location.origin}', '${clientId}', getenv('${secretName}'));
$created = $guiche->transactions->create(['amount' => 2590]);
echo $created->id, ' ', $created->pixResponse->uri, "\\n";`

const python = (clientId: string, t: Words) => `# ${t.sdkSource} pip install ./sdk-python
import os

from guiche import Guiche

guiche = Guiche(
    base_url="${location.origin}",
    client_id="${clientId}",
    client_secret=os.environ["${secretName}"],
)
created = guiche.transactions.create({"amount": 2590})
print(created["id"], created["pixResponse"]["uri"])`

const samples = { sdk, php, python, curl }
