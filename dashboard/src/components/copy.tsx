import { ActionIcon, Button, CopyButton, Group, Text, Tooltip } from '@mantine/core'
import { texts, useText } from '../text.ts'
import { IconOf } from './icons.tsx'

const words = texts({ en: { copy: 'Copy', copied: 'Copied' }, pt: { copy: 'Copiar', copied: 'Copiado' } })

/** A button that copies a text and confirms it for a moment. */
export function CopyAction({ value, label, isSmall = false }: { value: string; label?: string; isSmall?: boolean }) {
  const t = useText(words)
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t.copied : t.copy}>
          <ActionIcon
            {...(isSmall && { size: 'sm' })}
            variant="subtle"
            color={copied ? 'teal' : 'gray'}
            onClick={copy}
            aria-label={`${copied ? t.copied : t.copy}${label ? `: ${label}` : ''}`}
          >
            <IconOf name={copied ? 'check' : 'copy'} size={isSmall ? 14 : 16} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  )
}

/** A button with a label that copies a text. */
export function CopyTextButton({ value, label }: { value: string; label: string }) {
  const t = useText(words)
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy} leftSection={<IconOf name={copied ? 'check' : 'copy'} size={16} />}>
          {copied ? t.copied : label}
        </Button>
      )}
    </CopyButton>
  )
}

/** An identifier with a button that copies it. */
export function Copyable({ value, label }: { value: string; label?: string }) {
  return (
    <Group gap={4} wrap="nowrap" align="center">
      <Text component="span" className="identifier">
        {value}
      </Text>
      <CopyAction value={value} {...(label !== undefined && { label })} isSmall />
    </Group>
  )
}
