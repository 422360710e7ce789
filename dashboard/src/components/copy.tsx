import { ActionIcon, CopyButton, Group, Text, Tooltip } from '@mantine/core'
import { texts, useText } from '../text.ts'
import { IconOf } from './icons.tsx'

const words = texts({ en: { copy: 'Copy', copied: 'Copied' }, pt: { copy: 'Copiar', copied: 'Copiado' } })

/** An identifier with a button that copies it. */
export function Copyable({ value, label }: { value: string; label?: string }) {
  const t = useText(words)
  return (
    <Group gap={4} wrap="nowrap" align="center">
      <Text component="span" className="identifier">
        {value}
      </Text>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? t.copied : t.copy}>
            <ActionIcon
              size="sm"
              variant="subtle"
              color={copied ? 'teal' : 'gray'}
              onClick={copy}
              aria-label={`${copied ? t.copied : t.copy}${label ? `: ${label}` : ''}`}
            >
              <IconOf name={copied ? 'check' : 'copy'} size={14} />
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Group>
  )
}
