# bash completions for bloomport, written by `bloomport completion bash`.
_bloomport() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=
    local commands='build check info merge convert push pull add copy list size completion help'
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current"); return
    fi
    case ${COMP_WORDS[1]}:$previous in
    build:--format|check:--format|info:--format|merge:--from|merge:--format|convert:--from|convert:--to|push:--format|pull:--format)
        mapfile -t COMPREPLY < <(compgen -W 'portable sstable leveldb parquet redisbloom valkeybloom guava spark go cassandra bip37 rocksdb datasketches redisson dump sst ' -- "$current"); return ;;
    build:--variant|check:--variant|info:--variant|merge:--variant|convert:--variant|push:--variant|pull:--variant)
        mapfile -t COMPREPLY < <(compgen -W 'old 3.x 4.x v1 v2 ' -- "$current"); return ;;
    build:--layout|add:--layout|size:--layout)
        mapfile -t COMPREPLY < <(compgen -W 'classic blocked counting ' -- "$current"); return ;;
    build:--hash|check:--hash|info:--hash|merge:--hash|convert:--hash|push:--hash|size:--hash)
        mapfile -t COMPREPLY < <(compgen -W 'xxh64 fnv1a ' -- "$current"); return ;;
    list:--sort)
        mapfile -t COMPREPLY < <(compgen -W 'state utilisation key items capacity error bytes ' -- "$current"); return ;;
    list:--state)
        mapfile -t COMPREPLY < <(compgen -W 'overfilled full nearly-full many-layers clock-behind ok ' -- "$current"); return ;;
    build:--like|build:--output|build:-o|build:--socket|build:-s|build:--cacert|build:--cacertdir|build:--cert|build:--tls-key|check:--socket|check:-s|check:--cacert|check:--cacertdir|check:--cert|check:--tls-key|merge:--output|merge:-o|convert:--output|convert:-o|push:--socket|push:-s|push:--cacert|push:--cacertdir|push:--cert|push:--tls-key|pull:--output|pull:-o|pull:--socket|pull:-s|pull:--cacert|pull:--cacertdir|pull:--cert|pull:--tls-key|add:--socket|add:-s|add:--cacert|add:--cacertdir|add:--cert|add:--tls-key|copy:--cacert|copy:--cacertdir|copy:--cert|copy:--tls-key|list:--socket|list:-s|list:--cacert|list:--cacertdir|list:--cert|list:--tls-key)
        mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    esac
    case ${COMP_WORDS[1]} in
    help) words=$commands; current=${current:-} ;;
    build) words='--null --hex --column --delimiter --from-line --from-set --from-keys --error --bits-per-key --capacity --expansion --like --like-key --layout --hash --format --variant --output --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    check) words='--null --hex --column --delimiter --from-line --absent --count --hash --format --variant --prefix --key --server --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    info) words='--hash --format --variant --prefix --json --help ' ;;
    merge) words='--hash --from --format --variant --prefix --output --quiet --help ' ;;
    convert) words='--capacity --hash --from --to --variant --prefix --output --quiet --help ' ;;
    push) words='--capacity --expansion --hash --format --variant --prefix --key --merge --replace --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    pull) words='--expansion --format --variant --output --key --redisson --replace --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    add) words='--null --hex --column --delimiter --from-line --error --bits-per-key --capacity --expansion --layout --key --nocreate --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    copy) words='--key --from --to --key-to --merge --replace --cacert --cacertdir --cert --tls-key --insecure --insecure-name --timeout --cluster --quiet --help ' ;;
    list) words='--json --host --port --socket --url --db --user --pass --tls --cacert --cacertdir --cert --tls-key --sni --insecure --insecure-name --timeout --cluster --sort --state --quiet --help ' ;;
    size) words='--items --capacity --bits --memory --error --bits-per-key --layout --hash --window --generations --json --help ' ;;
    completion) words='--help ' ;;
    esac
    [ "${COMP_WORDS[1]}" = completion ] && words='bash zsh fish'
    case ${COMP_WORDS[1]}:$current in
    help:*|completion:*|*:-*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    esac
}
complete -o filenames -F _bloomport bloomport
