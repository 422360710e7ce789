import type { PixKey } from '@guiche/sdk'
import { Text } from '@mantine/core'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import { words } from './text.ts'

/** Shows a Pix key in bold on a card, because money is sent to it. */
export function PixKeyCard({ of: { key, type } }: { of: PixKey }) {
  const t = useText(words)
  const format = useFormat()
  return (
    <div className="card" style={{ padding: 'var(--mantine-spacing-sm)' }}>
      <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
        {type === 'CPF' || type === 'CNPJ' ? format.document(key) : key}
      </Text>
      <Text size="xs" c="dimmed">
        {t.keyTypes[type]}
      </Text>
    </div>
  )
}
